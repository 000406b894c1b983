import type { Caller } from '../auth/caller.ts'
import { releaseBody } from '../http/limits/body-room.ts'
import { releaseGate, requestTurn } from '../http/limits/request-gate.ts'
import type { Context } from './context.ts'

/** From now on a request waits for something else than the service: it takes nobody's room, and is not timed. */
export function holdAnswer({ about, request }: Pick<Context, 'about' | 'request'>): void {
  about.isLong = true
  releaseBody(request)
  releaseGate(request)
}

/** Resolves in a turn of the event loop for a large piece of work on a caller's request. */
export function callerTurn({ caller, request }: Pick<Context, 'request'> & { caller: Caller }): Promise<void> {
  return requestTurn(request, caller.userId)
}
