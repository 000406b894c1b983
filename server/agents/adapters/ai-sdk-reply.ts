import type { ChatPart, ChatRun } from '../config/define-config.ts'
import { modelMessage } from '../model/model-messages.ts'
import { adaptedReply, type AdaptedRun, type Foreign } from './adapted-reply.ts'
import { meteredModel, type SdkModel } from './ai-sdk-model.ts'

export type AiSdkResult = { readonly fullStream: AsyncIterable<{ readonly type: string }> }

export type AiSdkAgent = { stream(options: Foreign): PromiseLike<AiSdkResult> }

/** Argument of the function that calls `streamText`. */
export type AiSdkCall = {
  readonly messages: Foreign[]
  readonly abortSignal: AbortSignal
  /** Wraps a model so that its calls are metered. Wrap every model that the function calls. */
  readonly metered: <Model extends SdkModel>(model: Model) => Model
  readonly run: ChatRun
}

type StreamFunction = (call: AiSdkCall) => AiSdkResult | PromiseLike<AiSdkResult>

/** Creates the `reply` of a chat from an AI SDK agent, or from a function that returns `streamText(…)`. */
export function aiSdkReply(agent: AiSdkAgent | StreamFunction): (run: ChatRun) => AsyncIterable<ChatPart> {
  return adaptedReply(async (run) => {
    const { history, message, params, parts, signal: abortSignal } = run
    let callCount = 0
    const modelCall: ChatRun['modelCall'] = async (request) => {
      const call = await run.modelCall(request)
      callCount++
      return call
    }
    const metered: AiSdkCall['metered'] = (model) => {
      if (typeof model === 'string')
        throw new Error(`The model "${model}" cannot be metered, because it is a string. Pass a model object.`)
      return meteredModel(model, { modelCall, signal: abortSignal })
    }
    const latest = { role: 'user', content: message, ...(parts && { parts }) } as const
    const messages = [...history.filter(({ content }) => content.trim() !== ''), latest].map((one) =>
      modelMessage(one as Parameters<typeof modelMessage>[0]),
    )
    const { temperature } = params
    const result =
      typeof agent === 'function'
        ? await agent({ messages, abortSignal, metered, run })
        : await agent.stream({
            messages,
            abortSignal,
            allowSystemInMessages: true,
            ...(temperature !== undefined && { temperature }),
            prepareStep: meteredSteps(agent, metered),
          })
    let stepCount = 0
    await run.follow(result.fullStream, (part) => {
      if (part.type === 'start-step' && ++stepCount > callCount) {
        throw new Error('The agent called a model that is not metered. Wrap each model in `metered(model)`.')
      }
      show(part, run)
    })
  })
}

/** Meters the model of every step, including models chosen by the agent's own `prepareStep`. */
function meteredSteps(agent: AiSdkAgent, metered: AiSdkCall['metered']) {
  const { settings } = agent as { settings?: { prepareStep?: (step: { model: SdkModel }) => Foreign } }
  return async (step: { model: SdkModel }) => {
    const own = await settings?.prepareStep?.(step)
    return { ...own, model: metered(own?.model ?? step.model) }
  }
}

function show(part: Foreign, run: AdaptedRun): void {
  switch (part.type) {
    case 'text-delta':
      return run.text(part.text)
    case 'reasoning-delta':
      return run.reasoning(part.text)
    case 'tool-call':
      return run.toolCall({ id: part.toolCallId, name: part.toolName, input: part.input })
    case 'tool-result':
      if (!part.preliminary) run.toolResult({ id: part.toolCallId, output: part.output })
      return
    case 'tool-error':
      return run.toolError({ id: part.toolCallId, error: part.error })
    case 'error':
      throw part.error
  }
}
