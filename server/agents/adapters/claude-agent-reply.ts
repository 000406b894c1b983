import type { ChatPart, ChatRun } from '../config/define-config.ts'
import { adaptedReply, type AdaptedRun, type Foreign } from './adapted-reply.ts'

export type ClaudeQuery = (call: { prompt: string; options?: Foreign }) => AsyncIterable<Foreign>

export type ClaudeOptions = object | ((run: ChatRun) => object)

/** A model call in progress. There can be several, because subagents call models concurrently. */
type OpenCall = { usage: Foreign; toolInputs: Map<number, { id: string; name: string; json: string }> }

/**
 * Creates the `reply` of a chat from the Claude Agent SDK. The SDK's subprocess calls the model itself and reports a
 * call only after it has started, so its cost is reserved late. If the last call exceeds the balance, the excess is
 * written off.
 */
export function claudeAgentReply(
  query: ClaudeQuery,
  options: ClaudeOptions = {},
): (run: ChatRun) => AsyncIterable<ChatPart> {
  return adaptedReply(async (run) => {
    const abortController = new AbortController()
    const stop = () => abortController.abort()
    run.signal.addEventListener('abort', stop, { once: true })
    if (run.signal.aborted) stop()
    const own = typeof options === 'function' ? options(run) : options
    const streamed = query({
      prompt: promptOf(run),
      options: { ...own, abortController, includePartialMessages: true },
    })
    const calls = new Map<string | null, OpenCall>()
    let isCut = false
    try {
      await run.follow(streamed, (message) => {
        if (message.type === 'stream_event') showEvent(message, { calls, run })
        else if (message.type === 'user') showResults(message, run)
        else if (message.type === 'result' && message.is_error) {
          isCut = limits.has(message.subtype)
          throw new Error(failureOf(message))
        }
      })
    } catch (error) {
      if (!isCut) throw error
      run.cutOff()
    } finally {
      run.signal.removeEventListener('abort', stop)
      stop()
    }
  })
}

/** Result subtypes of a reply that reached one of the SDK's own limits. */
const limits = new Set(['error_max_turns', 'error_max_budget_usd'])

/** Combines the conversation into one string, because `query` accepts only a single prompt. */
function promptOf({ history, message }: ChatRun): string {
  if (history.length === 0) return message
  const said = history.map(({ content, role }) => `<${role}>\n${content}\n</${role}>`)
  return `The conversation so far:\n\n${said.join('\n')}\n\nAnswer the next message:\n\n${message}`
}

function showEvent(message: Foreign, { calls, run }: { calls: Map<string | null, OpenCall>; run: AdaptedRun }): void {
  const { event, parent_tool_use_id: parent } = message
  const { content_block: block, delta, index } = event
  if (event.type === 'message_start') {
    const { usage } = event.message
    calls.set(parent, { usage, toolInputs: new Map() })
    return run.step({ promptTokens: promptTokensOf(usage) })
  }
  const call = calls.get(parent)
  if (!call) return
  switch (event.type) {
    case 'content_block_start':
      if (block.type === 'tool_use') call.toolInputs.set(index, { id: block.id, name: block.name, json: '' })
      return
    case 'content_block_delta': {
      const input = call.toolInputs.get(index)
      if (delta.type === 'input_json_delta' && input) input.json += delta.partial_json
      else if (delta.type === 'text_delta') run.text(delta.text)
      else if (delta.type === 'thinking_delta') run.reasoning(delta.thinking)
      return
    }
    case 'content_block_stop': {
      const input = call.toolInputs.get(index)
      if (input) run.toolCall({ id: input.id, name: input.name, input: input.json === '' ? {} : input.json })
      return
    }
    case 'message_delta':
      call.usage = { ...call.usage, ...event.usage, stop: delta?.stop_reason }
      return
    case 'message_stop':
      calls.delete(parent)
      return run.usage(usageOf(call.usage))
  }
}

function showResults({ message }: Foreign, run: AdaptedRun): void {
  if (!Array.isArray(message?.content)) return
  for (const block of message.content) {
    if (block.type === 'tool_result') run.toolResult({ id: block.tool_use_id, output: block.content })
  }
}

function promptTokensOf({
  cache_creation_input_tokens: written,
  cache_read_input_tokens: cached,
  input_tokens: fresh,
}: Foreign): number {
  return (fresh ?? 0) + (cached ?? 0) + (written ?? 0)
}

function usageOf(usage: Foreign): Omit<Extract<ChatPart, { type: 'usage' }>, 'type'> {
  return {
    promptTokens: promptTokensOf(usage),
    cachedPromptTokens: usage.cache_read_input_tokens ?? 0,
    cacheWriteTokens: usage.cache_creation_input_tokens ?? 0,
    cacheWrite1hTokens: usage.cache_creation?.ephemeral_1h_input_tokens ?? 0,
    completionTokens: usage.output_tokens ?? 0,
    finishReason: usage.stop === 'max_tokens' ? 'length' : 'stop',
  }
}

function failureOf({ errors, result, subtype }: Foreign): string {
  return [result, ...(errors ?? [])].find((text) => typeof text === 'string' && text !== '') ?? String(subtype)
}
