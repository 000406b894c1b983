import { ErrandClientError, type ClientErrorCode } from './client-error.ts'
import type { ChatEvent, ChatInput, ChatUsage } from './types/client-types.ts'
import type { Connection } from './connection.ts'
import { methodsOf, type Method } from './calls/methods.ts'
import type { Call } from './calls/rpc-call.ts'
import { readChat, resumeChat, type ChatOptions, type ChatStream, type ResumeOptions } from './streams/read-chat.ts'

/** `output` is missing if the tool returned no result. */
export type ChatToolCall = {
  id: string
  name: string
  arguments: Record<string, unknown>
  output?: Record<string, unknown>
}

export type ChatReply = {
  text: string
  /** Set only if the agent exposes its reasoning. */
  reasoning?: string
  toolCalls: ChatToolCall[]
  usage: ChatUsage
  costUsd: string
}

export type ChatClient = {
  /**
   * Sends a message and yields the events of its reply as they arrive. The last event is `done`, or `error` if the
   * reply failed after it started. Such a failure is not thrown. If the service rejects the request itself, that error
   * is thrown.
   *
   * The message is sent only once, because each sent message is charged. If the stream breaks, a new connection
   * continues where the stream stopped.
   *
   * Breaking out of the loop or aborting the signal stops the reply. Exiting the program does not. With `onDisconnect:
   * 'continue'`, only `stop` stops the reply, and `resume` can read it again. With `onDisconnect: 'stop'`, a broken
   * connection also stops it.
   *
   * @example
   * for await (const event of client.chat.stream({ sessionId, message: 'Hello' })) {
   *   if (event.type === 'assistant_delta') show(event.delta)
   *   if (event.type === 'error') warn(event.error.message, event.costUsd)
   * }
   */
  stream: (input: ChatInput, options?: ChatOptions) => ChatStream
  /**
   * Sends a message and resolves with the complete reply. If the reply fails, rejects with an error that contains the
   * failure's code, and the amount charged as `costUsd`.
   *
   * @example
   * const { text, costUsd } = await client.chat.text({ sessionId, message: 'Hello' })
   */
  text: (input: ChatInput, options?: ChatOptions) => Promise<ChatReply>
  /**
   * Reads a reply again, or continues reading it, free of charge. Yields the events with a `seq` above `after`, then
   * the new events. The events are stored until ten minutes after the reply ends. After that, rejects with
   * EVENTS_EXPIRED.
   */
  resume: (input: { turnId: string; after?: number | undefined }, options?: ResumeOptions) => ChatStream
  /**
   * Like `resume`, but reads a session's reply in progress from its first event. Yields nothing if no reply is in
   * progress.
   */
  resumeSession: (input: { sessionId: string }, options?: ResumeOptions) => ChatStream
  /** Stops a reply in progress, like breaking out of its stream. Does not change a finished reply. */
  stop: Method<'chat.stop'>
}

export function createChatClient(connection: Connection, call: Call): ChatClient {
  const { stop } = methodsOf(call, 'chat', { stop: 'repeatableChange' })
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
      // Ignore unknown event types.
    }
  }
  throw new Error("The stream ended without its last event. Read the session's messages.")
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
  // The service may use codes that this client version does not know.
  return new ErrandClientError(error.code as ClientErrorCode, error.message, { costUsd, requestId })
}
