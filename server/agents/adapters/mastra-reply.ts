import type { ChatPart, ChatRun } from '../config/define-config.ts'
import { adaptedReply, type AdaptedRun, type Foreign } from './adapted-reply.ts'
import { meteredModel, type SdkModel } from './ai-sdk-model.ts'

export type MastraAgent = {
  stream(messages: Foreign, options: Foreign): Promise<{ readonly fullStream: AsyncIterable<Foreign> }>
  getDefaultOptions?(): Foreign
}

export function mastraReply(agent: MastraAgent): (run: ChatRun) => AsyncIterable<ChatPart> {
  return adaptedReply(async (run) => {
    const { history, message, params, signal } = run
    const said = [...history, { role: 'user' as const, content: message }]
    const system = said.filter(({ role }) => role === 'system').map(({ content }) => content)
    const messages = said.filter(({ role }) => role !== 'system').map(({ content, role }) => ({ role, content }))
    const defaults = await agent.getDefaultOptions?.()
    let callCount = 0
    const modelCall: ChatRun['modelCall'] = (request) => {
      callCount++
      return run.modelCall(request)
    }
    const { fullStream } = await agent.stream(messages, {
      ...(system.length > 0 && { system }),
      ...(params.temperature !== undefined && { modelSettings: { temperature: params.temperature } }),
      abortSignal: signal,
      // Mastra calls this after the agent's own processors, and again for each fallback model.
      prepareStep: async (step: { model: SdkModel }) => {
        const own = await defaults?.prepareStep?.(step)
        return { ...own, model: meteredModel(own?.model ?? step.model, { modelCall, signal }) }
      },
    })
    let stepCount = 0
    await run.follow(fullStream, ({ payload, type }) => {
      if (type === 'step-start' && ++stepCount > callCount) {
        throw new Error(
          'The agent called an unmetered model, because a processor replaced the metered one. Remove that processor.',
        )
      }
      show(type, payload, run)
    })
  })
}

function show(type: string, payload: Foreign, run: AdaptedRun): void {
  switch (type) {
    case 'text-delta':
      return run.text(payload.text)
    case 'reasoning-delta':
      return run.reasoning(payload.text)
    case 'tool-call':
      return run.toolCall({ id: payload.toolCallId, name: payload.toolName, input: payload.args })
    case 'tool-result':
      return run.toolResult({ id: payload.toolCallId, output: payload.result })
    case 'tool-error':
      return run.toolError({ id: payload.toolCallId, error: payload.error })
    case 'tripwire':
      throw new Error(`One of the agent's processors rejected the message: ${String(payload.reason)}`)
    case 'error':
      throw payload.error
  }
}
