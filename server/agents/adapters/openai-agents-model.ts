import type { ModelCall, ModelCallUsage } from '../config/define-config.ts'
import { currentRun, type Foreign } from './adapted-reply.ts'

/** The parts of the Agents SDK's `Model` that metering uses. */
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

/** Returns the model with each of its calls held before it is sent. Outside of a reply, calls are not metered. */
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
  const wrapped = new Proxy(model, { get: (of, name) => own[name as keyof AgentsModel] ?? bound(of, name) })
  metered.add(wrapped)
  return wrapped
}

/** The model's other methods, which may use private fields. */
function bound(model: object, name: string | symbol): unknown {
  const value: unknown = Reflect.get(model, name, model)
  return typeof value === 'function' ? value.bind(model) : value
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

/** A stopped call stays open, so that what it generated is charged. */
function fail(call: ModelCall | undefined, error: unknown): never {
  if (!currentRun.getStore()?.signal.aborted) call?.fail()
  throw error
}

/** Holds the tools that the model calls, and ends the call. The framework then starts the tools. */
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

/** Details are an object, or an array with one per request. */
function sum(details: Foreign, name: string): number {
  const all = Array.isArray(details) ? details : [details]
  return all.reduce((total: number, one: Foreign) => total + (one?.[name] ?? 0), 0)
}

/** Returns the finish reason in a raw event of either OpenAI API. */
function reasonOf(event: Foreign): ModelCallUsage['finishReason'] {
  return finishReasons[event?.choices?.[0]?.finish_reason ?? event?.response?.incomplete_details?.reason]
}
