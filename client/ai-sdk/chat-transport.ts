import { ErrandClientError, invalidArgument, isErrandError } from '../client-error.ts'
import { unlessAborted, withDeadline } from '../deadline.ts'
import type { ChatOptions, ChatStream, ResumeOptions } from '../streams/read-chat.ts'
import type { ChatInput, ChatMessagePart } from '../types/client-types.ts'
import { endOf, isEmpty, uiChunks, type ReplyEnd } from './ui-chunks.ts'
import type { ErrandUIMessageChunk, UIStreamOptions } from './ui-types.ts'

/** What the transport needs of a client of `errand-client`. */
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
   * In a page it has a client token as its `apiKey`. A function is called for each message and each reply that is resumed, so
   * that the token can be renewed.
   */
  client: ChatCalls | (() => ChatCalls | PromiseLike<ChatCalls>)
  /**
   * The session of a chat; when left out, the id of the chat is the id of its session. A function may make one to `send`,
   * and answers undefined to `resume` when there is none.
   */
  sessionId?: string | ((chatId: string, to: 'send' | 'resume') => SessionId | PromiseLike<SessionId>) | undefined
  /** What becomes of a reply when its page goes away; `continue` when left out, so that it can be resumed. */
  onDisconnect?: 'stop' | 'continue' | undefined
  /** Of every message; `body` of `sendMessage` goes before them. */
  params?: ChatInput['params']
  maxCostUsd?: string | undefined
  /** Told of the end of each reply that was read or stopped; of one that was stopped `useChat` is told nothing more. */
  onEnd?: ((end: ChatEnd) => void) | undefined
}

type SessionId = string | undefined

/** Without `costUsd` where the end was not seen. */
export type ChatEnd = ReplyEnd & { chatId: string; turnId: string }

type ChatRequest = {
  chatId: string
  abortSignal?: AbortSignal | undefined
}

type UIPart = { type: string; text?: unknown; url?: unknown; filename?: unknown }

/** As `ai` asks for a message to be sent. */
export type SendRequest = ChatRequest & {
  trigger: 'submit-message' | 'regenerate-message'
  messageId: string | undefined
  messages: readonly { role: string; parts: readonly UIPart[] }[]
  /** Fields of `chat.stream`: `params`, `maxCostUsd`, `quoteId`. */
  body?: object
}

/** As `ai` asks for a reply to be resumed. */
export type ReconnectRequest = ChatRequest

/** How long the next message waits for a reply that is being stopped. */
const stopMsMax = 10_000

/**
 * The transport of `useChat` to the service. Only the new message is sent: the history is the service's. `stop` of the chat
 * stops the reply, and nothing is written after it; a reload, another tab or a lost connection does not.
 *
 * @example
 * const transport = new ErrandChatTransport({ client: createClient({ baseUrl, apiKey: token }) })
 * const chat = useChat({ id: sessionId, transport, resume: true })
 */
export class ErrandChatTransport {
  /** A resumed reply comes from its beginning. */
  readonly resumeStreamIsReplay = true
  readonly #options: ErrandChatTransportOptions
  /** By chat: the reply whose end this page has not seen. */
  readonly #turns = new Map<string, string>()
  /** By chat: resolves when a reply that is being stopped is over. */
  readonly #stops = new Map<string, Promise<void>>()
  /** By chat: the latest that resumes it, which takes over from the one before. */
  readonly #resumes = new Map<string, ReconnectRequest>()

  constructor(options: ErrandChatTransportOptions) {
    this.#options = options
  }

  readonly sendMessages = async (request: SendRequest): Promise<ReadableStream<ErrandUIMessageChunk>> => {
    const { abortSignal, body, chatId } = request
    const { maxCostUsd, onDisconnect = 'continue', params } = this.#options
    const message = newMessage(request)
    const sessionId = await this.#sessionOf(chatId, 'send')
    if (sessionId === undefined) throw invalidArgument('sessionId', `Must be a session for the chat ${chatId}`)
    const { chat } = await this.#client()
    await this.#stops.get(chatId)
    abortSignal?.throwIfAborted()
    const given = { ...(params && { params }), ...(maxCostUsd !== undefined && { maxCostUsd }) }
    const stream = chat.stream({ ...given, ...body, sessionId, message, onDisconnect })
    const reply = { chat, chatId, stream }
    try {
      await unlessAborted(stream.begin(), abortSignal)
    } catch (error) {
      // What was sent is being answered, and goes on unless it is stopped.
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
    // A reply that ended in the meantime is found by its turn only.
    const turnId = this.#turns.get(chatId)
    const stream = turnId === undefined ? chat.resumeSession({ sessionId }) : chat.resume({ turnId })
    try {
      await unlessAborted(stream.begin(), abortSignal)
    } catch (error) {
      // A component that is mounted twice leaves its first request so: the reply is not stopped.
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
            // `resumeStream` aborts the reader before it at once, and stops nothing.
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
          // What comes after a stop is for nobody.
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

  /** Ends a reply at the service, and reads to its end what it cost. */
  #stop({ chat, chatId, stream }: Reply): void {
    const createTimeoutError = () => new ErrandClientError('TIMEOUT', 'The reply is still being stopped.')
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

/** Throws INVALID_ARGUMENT for what is not a new message of texts and files. */
function newMessage({ messageId, messages, trigger }: SendRequest): ChatInput['message'] {
  const last = messages.at(-1)
  if (trigger !== 'submit-message' || messageId !== undefined || last?.role !== 'user') {
    const advice =
      'Must end with a new message of the user: the service keeps the history as it was, and runs tools itself'
    throw invalidArgument('messages', advice)
  }
  const parts = last.parts.map(toPart)
  return parts.every((part) => part.type === 'text') ? parts.map(({ text }) => text).join('\n') : parts
}

function toPart({ filename, text, type, url }: UIPart): ChatMessagePart {
  if (type === 'text' && typeof text === 'string') return { type, text }
  const [, mediaType, data] = /^data:([^;,]+)(?:;[^;,]+)*;base64,(.*)$/s.exec(String(url)) ?? []
  if (type !== 'file' || mediaType === undefined || data === undefined) {
    throw invalidArgument('messages', `Must have texts and files as data: URLs, not such a part of the type ${type}`)
  }
  return { type, mediaType, data, ...(typeof filename === 'string' && { filename }) }
}

/** As browsers say that a connection broke, by which `useChat` knows that the reply can be resumed. */
function disconnectOf(error: unknown): unknown {
  if (!isErrandError(error) || error.code !== 'NETWORK_ERROR') return error
  return new TypeError(`network error: ${error.message}`, { cause: error })
}
