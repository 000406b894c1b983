import type { Peer } from '../../outbound/peer.ts'

/** Thrown if the service of an agent fails. The message is one sentence and reveals neither URL nor secret. */
export class AgentServiceError extends Error {
  override readonly name = 'AgentServiceError'
}

export class ServiceOutputTooLargeError extends AgentServiceError {}

export const agentService: Peer = { name: "agent's service", isOperators: true, Failure: AgentServiceError }
