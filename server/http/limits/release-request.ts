import type { IncomingMessage } from 'node:http'
import { releaseBody } from './body-room.ts'
import { releaseGate } from './request-gate.ts'

/** Frees the gate slot and the body memory of a request that is answered much later, or for long. */
export function releaseRequest(request: IncomingMessage): void {
  releaseBody(request)
  releaseGate(request)
}
