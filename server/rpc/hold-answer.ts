import type { Caller } from '../auth/caller.ts'
import { releaseBody } from '../http/limits/body-room.ts'
import { releaseGate, requestTurn } from '../http/limits/request-gate.ts'
import type { Context } from './context.ts'

/** Marks the request as long-lived: frees its gate slot and body memory, and excludes it from latency metrics. */
export function holdAnswer({ about, request }: Pick<Context, 'about' | 'request'>): void {
  about.isLong = true
  releaseBody(request)
  releaseGate(request)
}

/** Waits for an event-loop tick for a large piece of work on a caller's request. */
export function callerTurn({ caller, request }: Pick<Context, 'request'> & { caller: Caller }): Promise<void> {
  return requestTurn(request, caller.userId)
}
