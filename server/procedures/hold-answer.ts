import type { CallerContext, Context } from './context.ts'

/** Marks the request as long-lived. Releases its gate slot and body memory, and excludes it from latency metrics. */
export function holdAnswer({ about, request, shared }: Pick<Context, 'about' | 'request' | 'shared'>): void {
  about.isLong = true
  shared.release(request)
}

/** Waits for a new event-loop tick. Call it before a large piece of work for this request. */
export function callerTurn({ caller, request, shared }: Pick<CallerContext, 'caller' | 'request' | 'shared'>) {
  return shared.turn(request, caller.userId)
}
