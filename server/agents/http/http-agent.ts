import type { EndpointRun } from '../run/endpoint-run.ts'
import type { ChatPart, ChatRun, HttpAgentConfig } from '../config/define-config.ts'
import { httpLimits as limits, toHttpService } from './http-service.ts'

// Imports the socket and TLS modules lazily, because they take several MB per thread and not every thread calls a
// service.

export function httpRun(agent: HttpAgentConfig, name: string): (run: EndpointRun) => Promise<unknown> {
  const service = toHttpService(agent)
  return async (run) => {
    const { runHttpTask } = await import('./http-task.ts')
    return await runHttpTask({ service, agentId: agent.id, name, run, limits })
  }
}

export function httpReply(agent: HttpAgentConfig): (run: ChatRun) => AsyncIterable<ChatPart> {
  const service = toHttpService(agent)
  return async function* (run) {
    const { runHttpChat } = await import('./http-chat.ts')
    yield* runHttpChat({ service, run, limits })
  }
}
