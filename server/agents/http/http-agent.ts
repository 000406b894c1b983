import type { EndpointRun } from '../run/endpoint-run.ts'
import type { ChatPart, ChatRun, HttpAgentConfig } from '../config/define-config.ts'
import { httpLimits as limits, toHttpService } from './http-service.ts'

// Connections and TLS take some megabytes in each thread, so only one that reaches a service loads them.

/** Runs an endpoint of an `http` agent. */
export function httpRun(agent: HttpAgentConfig, name: string): (run: EndpointRun) => Promise<unknown> {
  const service = toHttpService(agent)
  return async (run) => {
    const { runHttpTask } = await import('./http-task.ts')
    return await runHttpTask({ service, agentId: agent.id, name, run, limits })
  }
}

/** Lets an `http` agent reply. */
export function httpReply(agent: HttpAgentConfig): (run: ChatRun) => AsyncIterable<ChatPart> {
  const service = toHttpService(agent)
  return async function* (run) {
    const { runHttpChat } = await import('./http-chat.ts')
    yield* runHttpChat({ service, run, limits })
  }
}
