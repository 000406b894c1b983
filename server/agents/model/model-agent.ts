import type { FinishReason, LanguageModel, LanguageModelMiddleware, TextStreamPart, ToolSet } from 'ai'
import type { RunConnectors } from '../../connectors/thread/run-connectors.ts'
import { roughTokens, type ResponseFormat, type Sampling } from '../run/chat-messages.ts'
import type { ReplyRun } from '../run/open-steps.ts'
import type { ChatPart, JsonSchema, ModelAgentConfig } from '../config/define-config.ts'
import { contextTokensDefault, maxOutputTokensDefault, taskConnectorTokensMax } from '../config/agent-schema.ts'
import { boundPrompts } from '../run/bound-connectors.ts'
import { connectorTools } from '../run/connector-tools.ts'
import { DeltaBypass } from '../threads/delta-bypass.ts'
import { describeModelError, ModelFailure, toModelFailure } from './model-error.ts'
import { modelMessage } from './model-messages.ts'
import { measuredCalls } from './measured-calls.ts'
import { ModelSteps } from './model-steps.ts'
import { FallbackModels, modelsOf } from './fallback-models.ts'
import { cacheMarks } from './prompt-caching.ts'
import type { EndpointRun } from '../run/endpoint-run.ts'
import { StepProgress } from '../run/run-progress.ts'
import { MaxCostError } from '../run/task-tokens.ts'
import { callNameCharsMax, CallIds, toArguments } from '../run/call-ids.ts'
import { PartQueue } from '../run/part-queue.ts'
import { jsonOf } from '../run/prompt-size.ts'
import { toJsonSchema, toZodSchema } from '../config/params-schema.ts'

const maxStepsDefault = 8

/** Replaces the structural types of the configuration with the AI SDK's own types. */
type SdkAgent = ModelAgentConfig & {
  readonly model: Exclude<LanguageModel, string>
  readonly tools?: ToolSet
  readonly providerOptions?: ProviderOptions
}
type CallParams = Parameters<NonNullable<LanguageModelMiddleware['transformParams']>>[0]['params']
type ProviderOptions = NonNullable<CallParams['providerOptions']>

/** Imports lazily: the AI SDK takes 100 ms and 20 MB to load, and only threads that run a model need it. */
const loadSdk = () => import('ai')

export function modelReply(agent: ModelAgentConfig): (run: ReplyRun) => AsyncIterable<ChatPart> {
  return (run) => {
    const left = new AbortController()
    const parts = new PartQueue<ChatPart>(() => left.abort())
    follow(agent as SdkAgent, run, { parts, left: left.signal }).then(
      () => parts.end(),
      (thrown: unknown) => parts.end({ thrown }),
    )
    return parts
  }
}

type Reader = { parts: PartQueue<ChatPart>; left: AbortSignal }

/** Pushes the reply's parts into the queue until the reply ends, is stopped, or loses its reader. */
async function follow(agent: SdkAgent, run: ReplyRun, { left, parts }: Reader): Promise<void> {
  const { connectors, history, isStopped, message, onModel, openCall, openStep, params, signal } = run
  const { isStepCount, streamText, wrapLanguageModel } = await loadSdk()
  // Skip blank replies, because Anthropic rejects blank messages.
  const earlier = history.filter(({ content, parts: sent }) => content.trim() !== '' || sent)
  const told = earlier.filter(({ role }) => role === 'system').map(({ content }) => content)
  const said = earlier.filter(({ role }) => role !== 'system')
  const latest = { role: 'user', content: message, ...(run.parts && { parts: run.parts }) } as const
  const messages = [...said, latest].map(modelMessage)
  const { contextTokens = contextTokensDefault } = agent
  const limit = agent.maxOutputTokens ?? maxOutputTokensDefault
  const { responseFormat } = params
  told.push(...schemaWords(agent, responseFormat?.schema))
  const steps = new ModelSteps({ contextTokens, openStep, onUsage: (usage) => parts.push(usage) })
  const bypass = new DeltaBypass(parts, {
    onAnswer: () => steps.answered(),
    onWritten: (text, isThought) => steps.wrote(text, isThought),
    onUsage: (usage) => steps.reported(usage),
  })
  const transformParams: LanguageModelMiddleware['transformParams'] = async ({ params: sent }) => {
    const { maxOutputTokens = limit } = sent
    const asked = { ...sent, maxOutputTokens, ...(responseFormat && { responseFormat }) }
    return { ...asked, maxOutputTokens: await steps.begin(asked) }
  }
  const { fullStream } = streamText({
    ...settingsOf(agent, told),
    model: wrapLanguageModel({
      model: new FallbackModels(agent, { wrap: wrapLanguageModel, log: run.log, isStopped, onModel }).model,
      middleware: [{ ...bypass.middleware, transformParams }, cacheMarks(agent)],
    }),
    ...(await toolsOf(heldTools(agent, openCall), connectors)),
    messages,
    maxOutputTokens: Math.min(params.maxTokens ?? limit, limit),
    ...(params.temperature !== undefined && { temperature: params.temperature }),
    ...samplingOf(agent, params.sampling),
    stopWhen: isStepCount(agent.maxSteps ?? maxStepsDefault),
    abortSignal: AbortSignal.any([stopOf(connectors, signal), left]),
    // Errors also arrive as stream parts. By default, the SDK would print them as well.
    onError: () => {},
  })
  const ids = new CallIds()
  try {
    for await (const part of fullStream) {
      if (part.type === 'finish-step') {
        assertUsable(part.finishReason)
        await steps.end(part.finishReason)
        continue
      }
      const chatPart = toChatPart(part, { ids, bypass })
      if (chatPart) parts.push(chatPart)
      if (parts.isFull) await parts.room()
    }
  } catch (thrown) {
    if (!signal.aborted && !connectors.failed.aborted) throw toModelFailure(thrown)
  } finally {
    bypass.end()
  }
  if (!signal.aborted) connectors.failed.throwIfAborted()
}

/**
 * Converts a part of the SDK's stream. Returns undefined for a part that replies do not contain. Throws if the model
 * failed.
 */
function toChatPart(
  part: TextStreamPart<ToolSet>,
  { ids, bypass }: { ids: CallIds; bypass: DeltaBypass },
): ChatPart | undefined {
  if (part.type === 'text-delta' || part.type === 'reasoning-delta') {
    const delta = bypass.untold(part.type, part.text)
    if (delta === '') return undefined
    return { type: part.type === 'text-delta' ? 'text' : 'reasoning', delta }
  }
  if (part.type === 'tool-call') {
    const name = part.toolName.slice(0, callNameCharsMax)
    return { type: 'tool-call', id: ids.open(part.toolCallId), name, arguments: toArguments(part.input) }
  }
  if (part.type === 'tool-result') {
    // A tool that is a generator yields preliminary results first.
    if (part.preliminary) return undefined
    return { type: 'tool-result', id: ids.of(part.toolCallId), output: part.output }
  }
  if (part.type === 'tool-error') {
    return { type: 'tool-result', id: ids.of(part.toolCallId), output: { error: describeModelError(part.error) } }
  }
  if (part.type === 'start-step') {
    bypass.began()
    return undefined
  }
  if (part.type === 'error') throw toModelFailure(part.error)
  return undefined
}

/**
 * Returns the strings that every model request contains in addition to messages and tools: the instructions and the
 * response format.
 */
export function textsBeside(agent: ModelAgentConfig, format: ResponseFormat | undefined): string[] {
  const texts = schemaWords(agent, format?.schema)
  if (format) texts.push(jsonOf(format))
  return agent.instructions === undefined ? texts : [agent.instructions, ...texts]
}

export function modelRun(config: ModelAgentConfig, name: string): (run: EndpointRun) => Promise<unknown> {
  const agent = config as SdkAgent
  const endpoint = agent.endpoints![name]!
  const schema = endpoint.output && toZodSchema(endpoint.output)
  const { contextTokens = contextTokensDefault } = agent
  const { connectorTokensMax = taskConnectorTokensMax } = endpoint
  return async ({ connectors: opened, log, params, progress, signal, tokens }) => {
    const { beginPrompt, connectors } = boundPrompts(opened, connectorTokensMax)
    const { generateText, isStepCount, Output, wrapLanguageModel } = await loadSdk()
    const limit = agent.maxOutputTokens ?? maxOutputTokensDefault
    const onModel = tokens && { onModel: tokens.setModel.bind(tokens) }
    const { model } = new FallbackModels(agent, { wrap: wrapLanguageModel, log, ...onModel })
    const measured = tokens && measuredCalls(tokens, { contextTokens, outputTokensMax: limit })
    const middleware = measured ? [measured.middleware, cacheMarks(agent)] : cacheMarks(agent)
    const marked = { ...agent, model: wrapLanguageModel({ model, middleware }) }
    const prompt: unknown = endpoint.prompt(params)
    if (typeof prompt !== 'string' || prompt === '')
      throw new Error(
        "The endpoint's prompt function did not return a non-empty string for these params. Fix the function or the params.",
      )
    // A fixed price cannot cover a prompt of arbitrary length.
    if (roughTokens(prompt) > contextTokens) {
      throw new Error(
        `The prompt for these params is longer than ${contextTokens} tokens, the maximum for this agent. Shorten the params.`,
      )
    }
    const stepsMax = agent.maxSteps ?? maxStepsDefault
    const steps = new StepProgress(progress, stepsMax)
    const onCall = (name: string) => {
      tokens?.callTool()
      steps.callTool(name)
    }
    const { providerOptions = {} } = agent
    const options = {
      ...settingsOf(marked),
      providerOptions,
      ...toldTools(await toolsOf(agent, connectors), onCall),
      prompt,
      maxOutputTokens: limit,
      stopWhen: isStepCount(stepsMax),
      prepareStep: () => {
        steps.begin()
        // Forbid further tool calls, so that the model answers with the results it has.
        return beginPrompt() ? {} : { toolChoice: 'none' as const }
      },
      abortSignal: stopOf(connectors, signal),
    }
    try {
      if (!schema) {
        const { finishReason, text } = await generateText(options)
        assertUsable(finishReason)
        if (finishReason === 'content-filter')
          throw new Error("The model provider's content filter blocked the answer. Change the input.")
        if (finishReason === 'length' && tokens?.isCallCut)
          return { text: text || measured!.text, reachedMaxCost: true }
        if (text === '') throw new Error('The model did not return any text. Try again or change the input.')
        return { text }
      }
      const output = Output.object({ schema })
      const settings = settingsOf(marked, schemaWords(agent, toJsonSchema(schema)))
      const { output: answer } = await generateText({ ...options, ...settings, output })
      return answer
    } catch (thrown) {
      if (!signal.aborted) connectors.failed.throwIfAborted()
      if (thrown instanceof MaxCostError && !schema && measured!.hasAnswered)
        return { text: measured!.text, reachedMaxCost: true }
      throw toModelFailure(thrown)
    }
  }
}

/**
 * Converts sampling settings to the SDK's call settings. Settings that the SDK does not define become provider options,
 * which the openai-compatible package forwards and other providers ignore. The agent's own provider options take
 * precedence.
 */
function samplingOf(agent: SdkAgent, { extra, ...settings }: Sampling = {}) {
  const { providerOptions = {} } = agent
  if (!extra) return { ...settings, providerOptions }
  const { logit_bias: logitBias, ...more } = extra
  const ofProviders = modelsOf(agent).map(({ provider: named }) => {
    const [name = ''] = named.split('.')
    const provider = name.trim().replaceAll(/[_-]([a-z])/g, (_, letter: string) => letter.toUpperCase())
    const options = provider === 'openai' && logitBias ? { ...more, logitBias } : extra
    return [provider, { ...options, ...providerOptions[provider] }]
  })
  return { ...settings, providerOptions: { ...providerOptions, ...Object.fromEntries(ofProviders) } }
}

function settingsOf({ instructions, model }: SdkAgent, told: readonly string[] = []) {
  const all = instructions === undefined ? told : [instructions, ...told]
  return { model, ...(all.length > 0 && { instructions: all.join('\n\n') }) }
}

/** Wraps the agent's own tools so that a call starts only once its cost is reserved. */
function heldTools({ tools = {} }: SdkAgent, openCall: ReplyRun['openCall']): { tools: ToolSet } {
  const held = Object.entries(tools).map(([name, tool]) => {
    if (!tool.execute) return [name, tool] as const
    // A generator can wrap any tool, because the SDK takes its last value as the result.
    const execute: typeof tool.execute = async function* (input, options) {
      await openCall()
      const output: unknown = tool.execute!(input, options)
      if (isAsyncIterable(output)) yield* output
      else yield await output
    }
    return [name, { ...tool, execute }] as const
  })
  return { tools: Object.fromEntries(held) }
}

function toldTools({ tools }: { tools?: ToolSet }, onCall: (name: string) => void): { tools?: ToolSet } {
  if (!tools) return {}
  const told = Object.entries(tools).map(([name, tool]) => {
    if (!tool.execute) return [name, tool] as const
    const execute: typeof tool.execute = (input, options) => {
      onCall(name)
      return tool.execute!(input, options)
    }
    return [name, { ...tool, execute }] as const
  })
  return { tools: Object.fromEntries(told) }
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}

async function toolsOf({ tools }: Pick<SdkAgent, 'tools'>, connectors: RunConnectors): Promise<{ tools?: ToolSet }> {
  const all = { ...tools, ...(await connectorTools(connectors)) }
  return Object.keys(all).length === 0 ? {} : { tools: all }
}

/**
 * Returns a signal that aborts with `signal` or when a connector fails, so that the model does not continue without the
 * tool's result.
 */
function stopOf(connectors: RunConnectors, signal: AbortSignal): AbortSignal {
  return connectors.tools.length === 0 ? signal : AbortSignal.any([signal, connectors.failed])
}

/** Returns the JSON Schema as an instruction if one of the models does not support structured outputs. */
function schemaWords(agent: ModelAgentConfig, schema: JsonSchema | undefined): string[] {
  const supportsAll = (modelsOf(agent) as readonly { supportsStructuredOutputs?: unknown }[]).every(
    ({ supportsStructuredOutputs }) => supportsStructuredOutputs !== false,
  )
  if (!schema || supportsAll) return []
  return [`Answer only with a JSON object that matches this JSON Schema: ${JSON.stringify(schema)}`]
}

function assertUsable(reason: FinishReason): void {
  if (reason === 'error') throw new ModelFailure('The model stopped with an error. Try again.')
  if (reason === 'interrupted') throw new ModelFailure("The model provider's response was cut off. Try again.")
}
