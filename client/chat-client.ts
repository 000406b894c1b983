import { ErrandClientError, type ClientErrorCode } from './client-error.ts'
import type { ChatEvent, ChatInput, ChatUsage } from './types/client-types.ts'
import type { Connection } from './connection.ts'
import { createMethods, type Method } from './calls/methods.ts'
import type { Call } from './calls/rpc-call.ts'
import { readChat, resumeChat, type ChatOptions, type ChatStream, type ResumeOptions } from './streams/read-chat.ts'

/** One call of a tool; without an output when no result came. */
export type ChatToolCall = {
  id: string
  name: string
  arguments: Record<string, unknown>
  output?: Record<string, unknown>
}

export type ChatReply = {
  text: string
  /** Only of an agent that shows it. */
  reasoning?: string
  toolCalls: ChatToolCall[]
  usage: ChatUsage
  costUsd: string
}

export type ChatClient = {
  /**
   * Sends a message and yields the events of its reply as they come. The last one is `done`, or `error` when the reply
   * failed after its start, which is not thrown; a refusal is. The message is sent once, because it is charged; a stream
   * that breaks off is read on from where it was, over a new connection. Leaving the loop or aborting the signal stops
   * the reply; a program that ends does not. With `onDisconnect: 'continue'` only `stop` does, and `resume` reads it again.
   * With `'stop'` a broken connection stops it too.
   *
   * @example
   * for await (const event of client.chat.stream({ sessionId, message: 'Hello' })) {
   *   if (event.type === 'assistant_delta') show(event.delta)
   *   if (event.type === 'error') warn(event.error.message, event.costUsd)
   * }
   */
  stream: (input: ChatInput, options?: ChatOptions) => ChatStream
  /**
   * Sends a message and resolves with the whole reply. A reply that failed is thrown with its code, and with what it
   * cost as `costUsd`.
   *
   * @example
   * const { text, costUsd } = await client.chat.text({ sessionId, message: 'Hello' })
   */
  text: (input: ChatInput, options?: ChatOptions) => Promise<ChatReply>
  /**
   * Reads a reply again, or goes on reading it: the events behind the one whose `seq` is `after`, then those to come.
   * Nothing is charged anew. EVENTS_EXPIRED when they are no longer kept, ten minutes after the end.
   */
  resume: (input: { turnId: string; after?: number | undefined }, options?: ResumeOptions) => ChatStream
  /** The same of the reply that a session is at work on, from its first event; no events without one. */
  resumeSession: (input: { sessionId: string }, options?: ResumeOptions) => ChatStream
  /** Stops a reply that is being written, as its reader does that leaves; one that is over stays as it is. */
  stop: Method<'chat.stop'>
}

export function createChatClient(connection: Connection, call: Call): ChatClient {
  const { repeatableChange } = createMethods(call)
  const stop: ChatClient['stop'] = repeatableChange('chat.stop')
  const stream: ChatClient['stream'] = (input, options) =>
    readChat(connection, { input, options, stop: (turnId) => stop({ turnId }) })
  return {
    stream,
    text: (input, options) => collectReply(stream(input, options)),
    resume: (input, options) => resumeChat(connection, input, options),
    resumeSession: (input, options) => resumeChat(connection, input, options),
    stop,
  }
}

async function collectReply(stream: ChatStream): Promise<ChatReply> {
  const reply: Pick<ChatReply, 'text' | 'reasoning' | 'toolCalls'> = { text: '', toolCalls: [] }
  for await (const event of stream) {
    switch (event.type) {
      case 'assistant_delta':
        reply.text += event.delta
        break
      case 'reasoning_delta':
        reply.reasoning = (reply.reasoning ?? '') + event.delta
        break
      case 'tool_call':
        reply.toolCalls.push({ ...event.toolCall })
        break
      case 'tool_result':
        addOutput(reply.toolCalls, event.toolResult)
        break
      case 'done':
        return { ...reply, usage: event.usage, costUsd: event.costUsd }
      case 'error':
        throw replyError(event, stream.requestId)
      // Kinds of events that this client does not know yet are no part of the reply.
    }
  }
  throw new Error('A stream ends with its last event or throws.')
}

function addOutput(
  toolCalls: readonly ChatToolCall[],
  { id, output }: Extract<ChatEvent, { type: 'tool_result' }>['toolResult'],
): void {
  const call = toolCalls.find((candidate) => candidate.id === id && candidate.output === undefined)
  if (call) call.output = output
}

function replyError(
  { error, costUsd }: Extract<ChatEvent, { type: 'error' }>,
  requestId: string | undefined,
): ErrandClientError {
  // The codes are the service's, which may know more of them than this client.
  return new ErrandClientError(error.code as ClientErrorCode, error.message, { costUsd, requestId })
}
