import type { Peer } from '../../outbound/peer.ts'

/** What went wrong with an agent's service, in one sentence that names neither its address nor its secret. */
export class AgentServiceError extends Error {
  override readonly name = 'AgentServiceError'
}

/** A service answered a task with more than any agent may. */
export class ServiceOutputTooLargeError extends AgentServiceError {}

export const agentService: Peer = { name: "agent's service", isOperators: true, Failure: AgentServiceError }
