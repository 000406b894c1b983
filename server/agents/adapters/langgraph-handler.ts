import type { ChatRun, ModelCall, ModelCallUsage } from '../config/define-config.ts'
import type { Foreign } from './adapted-reply.ts'

const reasons: Record<string, ModelCallUsage['finishReason']> = {
  stop: 'stop',
  end_turn: 'stop',
  length: 'length',
  max_tokens: 'length',
  tool_calls: 'length',
  tool_use: 'length',
  content_filter: 'content_filter',
}
const bytesPerToken = 4

type OpenCall = { call: ModelCall; bytes: number }

/** Creates a LangChain callback handler that reserves the cost of each model call before the call starts. */
export function meteringHandler({ modelCall, signal }: Pick<ChatRun, 'modelCall' | 'signal'>) {
  const calls = new Map<string, OpenCall>()
  const start = async (prompt: unknown[], runId: string, extra: Foreign) => {
    const { invocation_params: sent = {} } = extra ?? {}
    const limit = sent.max_completion_tokens ?? sent.max_output_tokens ?? sent.maxOutputTokens ?? sent.max_tokens
    const outputTokensMax = typeof limit === 'number' && limit > 0 ? limit : undefined
    calls.set(runId, { call: await modelCall({ prompt, tools: sent.tools, outputTokensMax }), bytes: 0 })
  }
  return {
    /** Whether a model call was aborted because it exceeded its reserved output. The abort makes the graph fail. */
    wasCut: false,
    name: 'errand',
    awaitHandlers: true,
    raiseError: true,
    lc_prefer_streaming: true,
    ignoreLLM: false,
    ignoreChain: true,
    ignoreAgent: true,
    ignoreRetriever: true,
    ignoreCustomEvent: true,
    copy() {
      return this
    },
    handleChatModelStart: (...[, messages, runId, , extra]: Foreign[]) =>
      start(messages.flat().flatMap(textsOf), runId, extra),
    handleLLMStart: (...[, prompts, runId, , extra]: Foreign[]) => start(prompts, runId, extra),
    async handleLLMNewToken(...[token, , runId, , , fields]: Foreign[]) {
      const open = calls.get(runId)
      if (!open) return
      const { additional_kwargs: more, tool_call_chunks: toolCalls = [] } = fields?.chunk?.message ?? {}
      const text = [token, ...toolCalls.map(({ args }: Foreign) => args)]
        .filter((one) => typeof one === 'string')
        .join('')
      const thought = String(more?.reasoning_content ?? '')
      open.call.wrote(text)
      open.call.wrote(thought, 'reasoning')
      open.bytes += Buffer.byteLength(text) + Buffer.byteLength(thought)
      // LangChain cannot lower a call's output limit, so abort a call that exceeds its reserved output.
      if (open.bytes <= open.call.outputTokensMax * bytesPerToken) return
      this.wasCut = true
      await open.call.end({ finishReason: 'length' })
      throw new Error(
        "The model exceeded its output limit. Set the model's limit to the one that this handler received.",
      )
    },
    handleLLMEnd: async ({ generations, llmOutput }: Foreign, runId: string) => {
      const message = generations.flat().at(-1)?.message
      const { call } = calls.get(runId) ?? {}
      calls.delete(runId)
      for (const { args } of message?.tool_calls ?? []) await call?.callsTool(JSON.stringify(args))
      await call?.end(usageOf(message, llmOutput))
    },
    handleLLMError: (_: unknown, runId: string) => {
      // If the user stopped the call, do not mark it as failed, so that the user still pays for the text generated so
      // far.
      if (!signal.aborted) calls.get(runId)?.call.fail()
      calls.delete(runId)
    },
  }
}

function textsOf({ additional_kwargs: more, content, tool_calls: toolCalls = [] }: Foreign): unknown[] {
  return [content, ...toolCalls, ...(more?.reasoning_content ? [more.reasoning_content] : [])]
}

function usageOf(message: Foreign, llmOutput: Foreign): ModelCallUsage {
  const usage = message?.usage_metadata
  const { finish_reason: finish, stop_reason: stop } = message?.response_metadata ?? {}
  return {
    promptTokens: usage?.input_tokens ?? llmOutput?.tokenUsage?.promptTokens,
    completionTokens: usage?.output_tokens ?? llmOutput?.tokenUsage?.completionTokens,
    cachedPromptTokens: usage?.input_token_details?.cache_read,
    cacheWriteTokens: usage?.input_token_details?.cache_creation,
    reasoningTokens: usage?.output_token_details?.reasoning,
    finishReason: reasons[finish ?? stop],
  }
}
