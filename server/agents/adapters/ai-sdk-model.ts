import type { ChatRun, ModelCall, ModelCallUsage } from '../config/define-config.ts'
import type { Foreign } from './adapted-reply.ts'
import { wrappedModel } from './wrapped-model.ts'

/** The part of an AI SDK language model that metering needs. It is the same in all versions of the interface. */
export type SdkModel = {
  readonly specificationVersion: string
  readonly modelId: string
  doGenerate(options: Foreign): PromiseLike<Foreign>
  doStream(options: Foreign): PromiseLike<Foreign>
}

const reasons: Record<string, ModelCallUsage['finishReason']> = {
  stop: 'stop',
  length: 'length',
  // A reply that ends with tool calls was cut off by the step limit.
  'tool-calls': 'length',
  'content-filter': 'content_filter',
}

/** Wraps a model so that each call first reserves its maximum cost, and is charged once its usage is known. */
export function meteredModel<Model extends SdkModel>(model: Model, run: Pick<ChatRun, 'modelCall' | 'signal'>): Model {
  const { modelCall, signal } = run
  const open = async (options: Foreign) => {
    const { abortSignal, maxOutputTokens, prompt, responseFormat, tools } = options
    const definitions = responseFormat?.type === 'json' ? [...(tools ?? []), responseFormat] : tools
    const call = await modelCall({
      prompt: prompt.flatMap(contentOf),
      tools: definitions,
      outputTokensMax: maxOutputTokens,
    })
    const stop = abortSignal ? AbortSignal.any([abortSignal, signal]) : signal
    return { call, sent: { ...options, maxOutputTokens: call.outputTokensMax, abortSignal: stop } }
  }
  /**
   * Ends the call without a charge and rethrows the error. If the user stopped the call, leaves it open, so that the
   * user still pays for the text generated so far.
   */
  const fail = (call: ModelCall, error: unknown): never => {
    if (!signal.aborted) call.fail()
    throw error
  }
  const doGenerate = async (options: Foreign) => {
    const { call, sent } = await open(options)
    const result = await model.doGenerate(sent).then(undefined, (error: unknown) => fail(call, error))
    for (const part of result.content) await note(call, { ...part, delta: part.text })
    await call.end(usageOf(result))
    return result
  }
  const doStream = async (options: Foreign) => {
    const { call, sent } = await open(options)
    const result = await model.doStream(sent).then(undefined, (error: unknown) => fail(call, error))
    const reader: ReadableStreamDefaultReader = result.stream.getReader()
    /** Forwards a stream part. Avoids a promise for text parts, the most frequent kind. */
    const pass = (part: Foreign, controller: ReadableStreamDefaultController): Promise<void> | undefined => {
      const noted = part.type === 'finish' ? call.end(usageOf(part)) : note(call, part)
      if (noted) return noted.then(() => controller.enqueue(part))
      if (part.type === 'error' && !signal.aborted) call.fail()
      controller.enqueue(part)
      return undefined
    }
    const pull = (controller: ReadableStreamDefaultController) =>
      reader.read().then(
        ({ done, value }) => (done ? call.end().then(() => controller.close()) : pass(value, controller)),
        (error: unknown) => fail(call, error),
      )
    const stream = new ReadableStream({ pull, cancel: (reason) => reader.cancel(reason) }, { highWaterMark: 0 })
    return { ...result, stream }
  }
  return wrappedModel<SdkModel>(model, { doGenerate, doStream }) as Model
}

function contentOf({ content }: { content: unknown }): unknown[] {
  if (!Array.isArray(content)) return [content]
  return content.map((part) => (part.type === 'text' && part.providerOptions === undefined ? part.text : part))
}

/** Records a part of the output. For a tool call, returns a promise that resolves once the tool's price is reserved. */
function note(call: ModelCall, part: Foreign): Promise<void> | undefined {
  switch (part.type) {
    case 'text':
    case 'text-delta':
      call.wrote(part.delta)
      return undefined
    case 'reasoning':
    case 'reasoning-delta':
      call.wrote(part.delta, 'reasoning')
      return undefined
    case 'tool-call':
      return call.callsTool(part.input)
    default:
      return undefined
  }
}

/** Converts the usage of a finished call. Before version 3 of the interface, token counts were plain numbers. */
function usageOf({ finishReason, usage }: Foreign): ModelCallUsage {
  const { inputTokens, outputTokens, raw } = usage ?? {}
  const reason = reasons[finishReason?.unified ?? finishReason]
  if (typeof inputTokens !== 'object' || inputTokens === null) {
    return {
      promptTokens: inputTokens,
      completionTokens: outputTokens,
      cachedPromptTokens: usage?.cachedInputTokens,
      reasoningTokens: usage?.reasoningTokens,
      finishReason: reason,
    }
  }
  return {
    promptTokens: inputTokens.total,
    cachedPromptTokens: inputTokens.cacheRead,
    cacheWriteTokens: inputTokens.cacheWrite,
    cacheWrite1hTokens: raw?.cache_creation?.ephemeral_1h_input_tokens,
    completionTokens: outputTokens?.total,
    reasoningTokens: outputTokens?.reasoning,
    finishReason: reason,
  }
}
