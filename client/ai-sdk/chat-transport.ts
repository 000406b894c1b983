import { ErrandClientError, invalidArgument, isErrandError } from '../client-error.ts'
import { unlessAborted, withDeadline } from '../deadline.ts'
import type { ChatOptions, ChatStream, ResumeOptions } from '../streams/read-chat.ts'
import type { ChatInput, ChatMessagePart } from '../types/client-types.ts'
import { endOf, isEmpty, uiChunks, type ReplyEnd } from './ui-chunks.ts'
import type { ErrandUIMessageChunk, UIStreamOptions } from './ui-types.ts'

export type ChatCalls = {
  chat: {
    stream: (input: ChatInput, options?: ChatOptions) => ChatStream
    resume: (input: { turnId: string; after?: number | undefined }, options?: ResumeOptions) => ChatStream
    resumeSession: (input: { sessionId: string }, options?: ResumeOptions) => ChatStream
    stop: (input: { turnId: string }) => PromiseLike<unknown>
  }
}

export type ErrandChatTransportOptions = UIStreamOptions & {
  /**
   * The client that sends messages and resumes replies. In a browser page, create it with a client token as its
   * `apiKey`. A function is called for each message and each resumed reply, so it can renew the token.
   */
  client: ChatCalls | (() => ChatCalls | PromiseLike<ChatCalls>)
  /**
   * Session id of a chat. Defaults to the chat id. A function can create a session when `to` is `send`. When `to` is
   * `resume`, it must return undefined if the chat has no session.
   */
  sessionId?: string | ((chatId: string, to: 'send' | 'resume') => SessionId | PromiseLike<SessionId>) | undefined
  /**
   * Whether a reply stops or continues when its page is closed or reloaded. Defaults to `continue`, so that the reply
   * can be resumed.
   */
  onDisconnect?: 'stop' | 'continue' | undefined
  /** Sent with every message, as is `maxCostUsd`. Fields in the `body` of `sendMessage` override both. */
  params?: ChatInput['params']
  maxCostUsd?: string | undefined
  /**
   * Called when a reply ends, if this page has read or stopped it. `useChat` gets no further chunks of a stopped reply.
   */
  onEnd?: ((end: ChatEnd) => void) | undefined
}

type SessionId = string | undefined

/** `costUsd` is missing if the transport did not receive the last event. */
export type ChatEnd = ReplyEnd & { chatId: string; turnId: string }

type ChatRequest = {
  chatId: string
  abortSignal?: AbortSignal | undefined
}

type UIPart = { type: string; text?: unknown; url?: unknown; filename?: unknown }

export type SendRequest = ChatRequest & {
  trigger: 'submit-message' | 'regenerate-message'
  messageId: string | undefined
  messages: readonly { role: string; parts: readonly UIPart[] }[]
  /** Fields of `chat.stream`, such as `params`, `maxCostUsd` and `quoteId`. */
  body?: object
}

export type ReconnectRequest = ChatRequest

/** Maximum time that the next message waits for an earlier reply to stop. */
const stopMsMax = 10_000

/**
 * Connects `useChat` to the service. Sends only the new message, because the service keeps the history. The chat's
 * `stop` also tells the service to stop the reply, and the page then receives no further chunks. A reload, another tab
 * or a lost connection does not stop the reply.
 *
 * @example
 * const transport = new ErrandChatTransport({ client: createClient({ baseUrl, apiKey: token }) })
 * const chat = useChat({ id: sessionId, transport, resume: true })
 */
export class ErrandChatTransport {
  /** Resuming replays the reply from its beginning. */
  readonly resumeStreamIsReplay = true
  readonly #options: ErrandChatTransportOptions
  /** Turn ids by chat id, for replies that this page has not fully received. */
  readonly #turns = new Map<string, string>()
  /** Promises by chat id. Each resolves once the reply that is being stopped has ended. */
  readonly #stops = new Map<string, Promise<void>>()
  readonly #resumes = new Map<string, ReconnectRequest>()

  constructor(options: ErrandChatTransportOptions) {
    this.#options = options
  }

  readonly sendMessages = async (request: SendRequest): Promise<ReadableStream<ErrandUIMessageChunk>> => {
    const { abortSignal, body, chatId } = request
    const { maxCostUsd, onDisconnect = 'continue', params } = this.#options
    const message = newMessage(request)
    const sessionId = await this.#sessionOf(chatId, 'send')
    if (sessionId === undefined) throw invalidArgument('sessionId', `Must return a session id for the chat ${chatId}`)
    const { chat } = await this.#client()
    await this.#stops.get(chatId)
    abortSignal?.throwIfAborted()
    const given = { ...(params && { params }), ...(maxCostUsd !== undefined && { maxCostUsd }) }
    const stream = chat.stream({ ...given, ...body, sessionId, message, onDisconnect })
    const reply = { chat, chatId, stream }
    try {
      await unlessAborted(stream.begin(), abortSignal)
    } catch (error) {
      // The message was already sent. Without this stop, the service would continue the reply.
      if (abortSignal?.aborted) this.#stop(reply)
      throw disconnectOf(error)
    }
    return this.#read(reply, abortSignal)
  }

  readonly reconnectToStream = async (
    request: ReconnectRequest,
  ): Promise<ReadableStream<ErrandUIMessageChunk> | null> => {
    const { abortSignal, chatId } = request
    this.#resumes.set(chatId, request)
    const sessionId = await this.#sessionOf(chatId, 'resume')
    if (sessionId === undefined) return null
    const { chat } = await this.#client()
    await this.#stops.get(chatId)
    abortSignal?.throwIfAborted()
    // An ended reply can be found only by its turn id.
    const turnId = this.#turns.get(chatId)
    const stream = turnId === undefined ? chat.resumeSession({ sessionId }) : chat.resume({ turnId })
    try {
      await unlessAborted(stream.begin(), abortSignal)
    } catch (error) {
      // A component that mounts twice aborts its first request. The reply must continue, so only stop reading it.
      void stream.return()
      if (!isErrandError(error) || error.code !== 'EVENTS_EXPIRED') throw disconnectOf(error)
      this.#turns.delete(chatId)
      return null
    }
    if (isEmpty(stream)) return null
    return this.#read({ chat, chatId, stream }, abortSignal)
  }

  #read(reply: Reply, abortSignal: AbortSignal | undefined): ReadableStream<ErrandUIMessageChunk> {
    const { chatId, stream } = reply
    if (stream.turnId !== undefined) this.#turns.set(chatId, stream.turnId)
    const resumed = this.#resumes.get(chatId)
    const chunks = uiChunks(stream, { ...this.#options, onEnd: (end) => this.#end(reply, end) })
    let isOver = false
    let leave = () => {}
    return new ReadableStream<ErrandUIMessageChunk>(
      {
        start: (controller) => {
          const onAbort = () => {
            leave()
            controller.error(abortSignal!.reason)
          }
          leave = () => {
            if (isOver) return
            isOver = true
            abortSignal?.removeEventListener('abort', onAbort)
            if (!abortSignal?.aborted) return void stream.return()
            // `resumeStream` aborts the previous reader and then synchronously starts a new one. If it has done so,
            // only stop reading.
            queueMicrotask(() => {
              if (this.#resumes.get(chatId) === resumed) this.#stop(reply)
              else void stream.return()
            })
          }
          abortSignal?.addEventListener('abort', onAbort)
          if (abortSignal?.aborted) onAbort()
        },
        pull: async (controller) => {
          const { done, value } = await chunks.next().catch((error: unknown) => {
            throw disconnectOf(error)
          })
          // After the reply is stopped, nothing reads further chunks.
          if (isOver) return
          if (!done) return controller.enqueue(value)
          leave()
          controller.close()
        },
        cancel: () => leave(),
      },
      { highWaterMark: 0 },
    )
  }

  /** Tells the service to stop a reply, then reads the remaining events to learn the cost. */
  #stop({ chat, chatId, stream }: Reply): void {
    const createTimeoutError = () =>
      new ErrandClientError(
        'TIMEOUT',
        `The service did not confirm the stop within ${stopMsMax} ms. Stop the reply again.`,
      )
    const stopped = withDeadline({ signal: undefined, timeoutMs: stopMsMax, createTimeoutError }, async () => {
      await stream.begin()
      const { turnId } = stream
      if (turnId === undefined) return
      await chat.stop({ turnId })
      for await (const event of stream) {
        const end = endOf(event)
        if (end) this.#end({ chatId, stream }, end)
      }
    })
      .catch((error: unknown) => {
        if (isErrandError(error)) this.#end({ chatId, stream }, { error })
      })
      .finally(() => {
        if (this.#stops.get(chatId) === stopped) this.#stops.delete(chatId)
        void stream.return()
      })
    this.#stops.set(chatId, stopped)
  }

  #end({ chatId, stream: { turnId } }: Pick<Reply, 'chatId' | 'stream'>, end: ReplyEnd): void {
    if (turnId === undefined) return
    if (this.#turns.get(chatId) === turnId) this.#turns.delete(chatId)
    this.#options.onEnd?.({ chatId, turnId, ...end })
  }

  async #client(): Promise<ChatCalls> {
    const { client } = this.#options
    return typeof client === 'function' ? await client() : client
  }

  async #sessionOf(chatId: string, to: 'send' | 'resume'): Promise<SessionId> {
    const { sessionId = chatId } = this.#options
    return typeof sessionId === 'function' ? await sessionId(chatId, to) : sessionId
  }
}

type Reply = Pick<ChatCalls, 'chat'> & { chatId: string; stream: ChatStream }

/** Throws INVALID_ARGUMENT unless the request is a new user message of text and files. */
function newMessage({ messageId, messages, trigger }: SendRequest): ChatInput['message'] {
  const last = messages.at(-1)
  if (trigger !== 'submit-message' || messageId !== undefined || last?.role !== 'user') {
    const advice = 'Must end with a new user message, because the service stores earlier messages and runs tools itself'
    throw invalidArgument('messages', advice)
  }
  const parts = last.parts.map(toPart)
  return parts.every((part) => part.type === 'text') ? parts.map(({ text }) => text).join('\n') : parts
}

function toPart({ filename, text, type, url }: UIPart): ChatMessagePart {
  if (type === 'text' && typeof text === 'string') return { type, text }
  const [, mediaType, data] = /^data:([^;,]+)(?:;[^;,]+)*;base64,(.*)$/s.exec(String(url)) ?? []
  if (type !== 'file' || mediaType === undefined || data === undefined) {
    throw invalidArgument(
      'messages',
      `Must contain only text and files with data: URLs. Remove the part of type ${type}`,
    )
  }
  return { type, mediaType, data, ...(typeof filename === 'string' && { filename }) }
}

/** Mimics the browser's error for a broken connection, so that `useChat` knows it can resume the reply. */
function disconnectOf(error: unknown): unknown {
  if (!isErrandError(error) || error.code !== 'NETWORK_ERROR') return error
  return new TypeError(`network error: ${error.message}`, { cause: error })
}
