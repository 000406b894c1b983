import type { ModelCall, ModelCallUsage } from '../config/define-config.ts'
import { currentRun, type Foreign } from './adapted-reply.ts'
import { wrappedModel } from './wrapped-model.ts'

/** The members of the Agents SDK's `Model` that metering needs. */
export type AgentsModel = {
  getResponse(request: Foreign): Promise<Foreign>
  getStreamedResponse(request: Foreign): AsyncIterable<Foreign>
}

const finishReasons: Record<string, ModelCallUsage['finishReason']> = {
  stop: 'stop',
  length: 'length',
  max_output_tokens: 'length',
  content_filter: 'content_filter',
}
const metered = new WeakSet<object>()

/**
 * Wraps a model so that each call reserves its maximum cost before it is sent. Calls made outside of a reply are not
 * metered.
 */
export function meteredAgentsModel<Model extends AgentsModel>(model: Model): Model {
  if (metered.has(model)) return model
  const own: AgentsModel = {
    getResponse: async (request) => {
      const { call, sent } = await open(request)
      const response: Foreign = await model.getResponse(sent).catch((error: unknown) => fail(call, error))
      await finish(call, response)
      return response
    },
    async *getStreamedResponse(request) {
      const { call, sent } = await open(request)
      let finishReason: ModelCallUsage['finishReason']
      try {
        for await (const event of model.getStreamedResponse(sent)) {
          if (event.type === 'output_text_delta') call?.wrote(event.delta)
          else if (event.type === 'model') finishReason = reasonOf(event.event) ?? finishReason
          else if (event.type === 'response_done') await finish(call, event.response, finishReason)
          yield event
        }
      } catch (error) {
        fail(call, error)
      }
    },
  }
  const wrapped = wrappedModel<AgentsModel>(model, own) as Model
  metered.add(wrapped)
  return wrapped
}

async function open(request: Foreign): Promise<{ call: ModelCall | undefined; sent: Foreign }> {
  const run = currentRun.getStore()
  if (!run) return { call: undefined, sent: request }
  const { handoffs = [], input, modelSettings, outputType, signal, systemInstructions = '', tools = [] } = request
  const { params } = run
  const call = await run.modelCall({
    prompt: [systemInstructions, ...(Array.isArray(input) ? input : [input])],
    tools: [...tools, ...handoffs, ...(outputType === 'text' ? [] : [outputType])],
    outputTokensMax: modelSettings.maxTokens,
  })
  const settings = {
    ...modelSettings,
    ...(params.temperature !== undefined && { temperature: params.temperature }),
    maxTokens: call.outputTokensMax,
  }
  const stop = signal ? AbortSignal.any([signal, run.signal]) : run.signal
  return { call, sent: { ...request, modelSettings: settings, signal: stop } }
}

/**
 * Ends the call without a charge and rethrows the error. If the user stopped the call, leaves it open, so that the user
 * still pays for the text generated so far.
 */
function fail(call: ModelCall | undefined, error: unknown): never {
  if (!currentRun.getStore()?.signal.aborted) call?.fail()
  throw error
}

/** Ends the model call after reserving the price of the requested tool calls, which the framework starts afterwards. */
async function finish(
  call: ModelCall | undefined,
  { output, usage }: Foreign,
  finishReason?: ModelCallUsage['finishReason'],
): Promise<void> {
  for (const item of output) {
    if (item.type === 'function_call') await call?.callsTool(item.arguments)
  }
  await call?.end({
    promptTokens: usage?.inputTokens,
    completionTokens: usage?.outputTokens,
    cachedPromptTokens: sum(usage?.inputTokensDetails, 'cached_tokens'),
    reasoningTokens: sum(usage?.outputTokensDetails, 'reasoning_tokens'),
    finishReason,
  })
}

/** Sums a count over usage details, which are one object or an array with one object per request. */
function sum(details: Foreign, name: string): number {
  const all = Array.isArray(details) ? details : [details]
  return all.reduce((total: number, one: Foreign) => total + (one?.[name] ?? 0), 0)
}

/** Returns the finish reason from a raw event of the Chat Completions or Responses API. */
function reasonOf(event: Foreign): ModelCallUsage['finishReason'] {
  return finishReasons[event?.choices?.[0]?.finish_reason ?? event?.response?.incomplete_details?.reason]
}
