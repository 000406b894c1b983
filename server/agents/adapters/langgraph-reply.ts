import type { ChatPart, ChatRun } from '../config/define-config.ts'
import { adaptedReply, type AdaptedRun, type Foreign } from './adapted-reply.ts'
import { meteringHandler } from './langgraph-handler.ts'

/** A compiled LangGraph graph, such as `createAgent(…).graph` or `new StateGraph(…).compile()`. */
export type CompiledGraph = { stream(input: Foreign, options: Foreign): Promise<AsyncIterable<Foreign>> }

export type LangGraphOptions = {
  /** Builds the graph's input. The default is `{ messages }` with the history and the new message. */
  readonly input?: (run: ChatRun) => unknown
  /** LangGraph's run configuration, such as `{ recursionLimit: 50 }`. */
  readonly config?: { readonly [name: string]: unknown }
}

/**
 * Creates the `reply` of a chat from a compiled graph. The reply contains the output of the graph's models and tools.
 */
export function langGraphReply(
  graph: CompiledGraph,
  { config = {}, input = messagesOf }: LangGraphOptions = {},
): (run: ChatRun) => AsyncIterable<ChatPart> {
  return adaptedReply(async (run) => {
    // Models in the graph's nodes inherit this callback handler, which also makes them stream.
    const handler = meteringHandler(run)
    const { callbacks = [] } = config as { callbacks?: readonly unknown[] }
    try {
      const streamed = await graph.stream(input(run), {
        ...config,
        callbacks: [...callbacks, handler],
        streamMode: ['messages', 'updates'],
        signal: run.signal,
      })
      await run.follow(streamed, ([mode, value]) => {
        if (mode === 'messages') showText(value[0], run)
        else for (const one of messagesIn(value)) showTools(one, run)
      })
    } catch (error) {
      if ((error as Foreign)?.name === 'GraphRecursionError') run.cutOff()
      else if (!handler.wasCut) throw error
    }
  })
}

function messagesOf({ history, message }: ChatRun): unknown {
  return { messages: [...history, { role: 'user', content: message }].map(({ content, role }) => ({ role, content })) }
}

/**
 * Types of messages that a model did not write. Checking for the type `ai` instead would miss the first chunk of a
 * model's message, which may have the type `generic`.
 */
const otherTypes = new Set(['human', 'system', 'tool', 'function', 'remove', ''])

function showText(message: Foreign, run: AdaptedRun): void {
  if (otherTypes.has(typeOf(message) ?? '')) return
  const { additional_kwargs: more, content } = message
  if (more?.reasoning_content) run.reasoning(more.reasoning_content)
  for (const block of Array.isArray(content) ? content : [{ type: 'text', text: content }]) {
    if (block.type === 'text' && block.text !== '') run.text(block.text)
    else if (block.type === 'reasoning' || block.type === 'thinking') run.reasoning(block.reasoning ?? block.thinking)
  }
}

function showTools(message: Foreign, run: AdaptedRun): void {
  const type = typeOf(message)
  if (type === 'ai') {
    for (const call of message.tool_calls ?? []) run.toolCall({ id: call.id, name: call.name, input: call.args })
  } else if (type === 'tool') run.toolResult({ id: message.tool_call_id, output: outputOf(message.content) })
}

function messagesIn(updates: Foreign): Foreign[] {
  return Object.values(updates)
    .flatMap((update) => update as Foreign)
    .flatMap((update) => Object.values(update ?? {}))
    .flatMap((value) => value as Foreign)
    .filter((value) => typeOf(value) !== undefined)
}

function typeOf(message: Foreign): string | undefined {
  return typeof message?.getType === 'function' ? message.getType() : undefined
}

/** Parses a tool's output, which LangGraph stores as a string. */
function outputOf(content: unknown): unknown {
  if (typeof content !== 'string') return content
  try {
    return JSON.parse(content)
  } catch {
    return content
  }
}
