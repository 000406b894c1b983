import type { ChatPart, ChatRun } from '../config/define-config.ts'
import { adaptedReply, type AdaptedRun, type Foreign } from './adapted-reply.ts'
import { meteringHandler } from './langgraph-handler.ts'

/** A compiled graph of LangGraph, such as `createAgent(…).graph` or `new StateGraph(…).compile()`. */
export type CompiledGraph = { stream(input: Foreign, options: Foreign): Promise<AsyncIterable<Foreign>> }

export type LangGraphOptions = {
  /** Returns the graph's input. By default `{ messages }`, with the history and the message. */
  readonly input?: (run: ChatRun) => unknown
  /** Configuration of the run, such as `{ recursionLimit: 50 }`. */
  readonly config?: { readonly [name: string]: unknown }
}

/** Returns the `reply` of a chat with a compiled graph. Shows what its models and tools answer. */
export function langGraphReply(
  graph: CompiledGraph,
  { config = {}, input = messagesOf }: LangGraphOptions = {},
): (run: ChatRun) => AsyncIterable<ChatPart> {
  return adaptedReply(async (run) => {
    // Models in the nodes inherit the handler, and stream because of it.
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
      if (!handler.wasCut) throw error
    }
  })
}

function messagesOf({ history, message }: ChatRun): unknown {
  return { messages: [...history, { role: 'user', content: message }].map(({ content, role }) => ({ role, content })) }
}

/** Messages that no model wrote. The first piece of a model's message may have the type `generic`. */
const otherTypes = new Set(['human', 'system', 'tool', 'function', 'remove', ''])

/** Shows the text of a model, or of a message that a node adds. */
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

/** Returns the messages in the updates that nodes make to the state, under any name. */
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

/** A tool's result is text in its message. */
function outputOf(content: unknown): unknown {
  if (typeof content !== 'string') return content
  try {
    return JSON.parse(content)
  } catch {
    return content
  }
}
