import type { IncomingMessage } from 'node:http'
import { releaseBody } from './body-room.ts'
import { releaseGate } from './request-gate.ts'

/** Frees the gate slot and the body memory of a request whose response starts much later or takes a long time. */
export function releaseRequest(request: IncomingMessage): void {
  releaseBody(request)
  releaseGate(request)
}
