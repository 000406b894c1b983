import { releaseBody } from '../http/body-room.ts'
import { releaseGate } from '../http/request-gate.ts'
import type { Context } from './context.ts'

/** From now on a request waits for something else than the service: it takes nobody's room, and is not timed. */
export function holdAnswer({ about, request }: Pick<Context, 'about' | 'request'>): void {
  about.isLong = true
  releaseBody(request)
  releaseGate(request)
}
