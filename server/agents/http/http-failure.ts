import type { Peer } from '../../outbound/peer.ts'

/** Thrown if an agent's service fails. The message is one sentence and contains neither the URL nor the secret. */
export class AgentServiceError extends Error {
  override readonly name = 'AgentServiceError'
}

export class ServiceOutputTooLargeError extends AgentServiceError {}

export const agentService: Peer = { name: "agent's service", isOperators: true, Failure: AgentServiceError }
