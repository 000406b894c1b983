import type { CallOptions } from '../calls/rpc-call.ts'
import { toJson } from '../calls/send-rpc.ts'
import { ErrandClientError, isErrandError, withFields } from '../client-error.ts'
import type { Connection } from '../connection.ts'
import { unlessAborted } from '../deadline.ts'
import { checkIdempotencyKey } from '../idempotency-key.ts'
import { noteLeft, whenFree } from './left-sessions.ts'
import type { NdjsonEvent } from './ndjson-decoder.ts'
import { describeCause } from '../odd-answer.ts'
import { openStream, type OpenStream } from './open-stream.ts'
import { readEvents, type EventReader } from './read-events.ts'
import type { ChatEvent, ChatInput } from '../types/client-types.ts'

/** Events of one reply. They can be iterated only once. Reading the first event sends the request. */
export type ChatStream = EventReader<ChatEvent> & {
  /** The X-Request-Id of the response. Include it in bug reports. Known once the response has started. */
  readonly requestId: string | undefined
  /** Response headers. Known once the response has started. */
  readonly headers: Headers | undefined
  /** Id of the reply, for resuming or stopping it. Known once the response has started. */
  readonly turnId: string | undefined
  /**
   * Resolves when the response starts, before its first event. Sends the request unless `next` already has. Rejects
   * with the error that `next` would throw.
   */
  begin: () => Promise<void>
  [Symbol.asyncIterator]: () => ChatStream
}

export type ChatOptions = Omit<CallOptions, 'maxRetries'> & {
  /**
   * Sending the same message again with the same key returns the same reply and charges once. A different message is
   * rejected with CONFLICT.
   */
  idempotencyKey?: string | undefined
}

export type ResumeOptions = Omit<CallOptions, 'maxRetries'>

/**
 * Identifies a reply by its turn id, or as the reply in progress in a session. `after` is the `seq` of the last event to
 * skip.
 */
export type ResumeInput = { turnId: string; after?: number | undefined } | { sessionId: string }

/** Give up reading a broken reply after this many consecutive failures, which take about two minutes. */
const failuresMax = 16

type Start = {
  operation: string
  signal: AbortSignal | undefined
  timeoutMs: number
  /** Set if the turn is known before the first response. */
  turn?: { turnId: string; after?: number | undefined }
}

type Chat = {
  input: ChatInput
  options: ChatOptions | undefined
  stop: (turnId: string) => PromiseLike<unknown>
}

/**
 * Reads one chat from the request to the last event, `done` or `error`. The service cannot distinguish a broken
 * connection from a client that stops reading. By default, the client therefore asks the service to continue the reply,
 * and stops it with a separate request.
 */
export function readChat(connection: Connection, { input, options = {}, stop }: Chat): ChatStream {
  const { idempotencyKey, requestTimeoutMs: timeoutMs = connection.requestTimeoutMs, signal } = options
  const { onDisconnect = 'continue', sessionId } = input
  let opening: Promise<OpenStream> | undefined
  const request = new AbortController()
  const start = async (own: AbortSignal) => {
    if (idempotencyKey !== undefined) checkIdempotencyKey(idempotencyKey)
    const body = toJson({ ...input, onDisconnect })
    const late = `No reply started within ${timeoutMs} ms. Check the transactions, because the reply can still be charged.`
    const chat = { path: '/api/chat', body, idempotencyKey, signal: request.signal, timeoutMs, late }
    opening = whenFree(connection, { sessionId, signal: own }, () => openStream(connection, chat))
    opening.catch(() => request.abort())
    return await unlessAborted(opening, own)
  }
  let hasLeft = false
  const onLeave = () => {
    if (!opening || hasLeft) return
    hasLeft = true
    if (input.onDisconnect !== 'continue') noteLeft(sessionId)
    if (input.onDisconnect !== undefined) return request.abort()
    // Only the response headers contain the turn id, so do not abort the request before the headers arrive.
    void opening
      .then(({ body, headers }) => {
        request.abort()
        body.cancel().catch(() => {})
        const turnId = headers.get('errand-turn-id')
        return turnId === null ? undefined : stop(turnId)
      })
      .catch(() => {})
  }
  return readTurn(connection, { operation: 'chat.stream', signal, timeoutMs }, { start, onLeave })
}

/** Reads a reply that has already started. Yields nothing if no more events follow. */
export function resumeChat(connection: Connection, input: ResumeInput, options: ResumeOptions = {}): ChatStream {
  const { requestTimeoutMs: timeoutMs = connection.requestTimeoutMs, signal } = options
  const of = { signal, timeoutMs }
  if ('turnId' in input) return readTurn(connection, { ...of, operation: 'chat.resume', turn: input })
  const path = `/api/sessions/${encodeURIComponent(input.sessionId)}/stream`
  const start = (own: AbortSignal) => openAgain(connection, { path, signal: own, timeoutMs })
  return readTurn(connection, { ...of, operation: 'chat.resumeSession' }, { start })
}

/**
 * Reads a reply over as many connections as needed. `start` opens the first one. Later ones continue after the last
 * event read.
 */
function readTurn(
  connection: Connection,
  { operation, signal, timeoutMs, turn }: Start,
  { onLeave, start }: { start?: (own: AbortSignal) => Promise<OpenStream | undefined>; onLeave?: () => void } = {},
): ChatStream {
  let first: OpenStream | undefined
  let turnId = turn?.turnId
  let lastSeq = turn?.after ?? 0
  /** The first event, if `begin` has requested it. */
  let ahead: Promise<IteratorResult<ChatEvent, void>> | undefined
  let noteBegun = () => {}
  const begun = new Promise<void>((resolve) => (noteBegun = resolve))
  const connect = async (own: AbortSignal) => {
    if (start && turnId === undefined) {
      first = await start(own)
      turnId = first?.headers.get('errand-turn-id') ?? undefined
      noteBegun()
      return first
    }
    const path = `/api/chat/${encodeURIComponent(turnId!)}/events?after=${lastSeq}`
    try {
      const opened = await openAgain(connection, { path, signal: own, timeoutMs })
      first ??= opened
      noteBegun()
      return opened
    } catch (error) {
      const isGone = isErrandError(error) && (error.status === 404 || error.status === 410)
      throw isGone && start ? brokenOff(error, true) : error
    }
  }
  const reader = readEvents<ChatEvent>(connection, {
    operation,
    signal,
    connect,
    take: (event) => isNew(event),
    isLast: ({ type }) => type === 'done' || type === 'error',
    brokenOff,
    // A request without a response may have been charged, so do not send it again.
    mayResume: (failures) => turnId !== undefined && failures < failuresMax,
    ...(onLeave && { onLeave }),
    describe: (thrown) => (first ? withFields(thrown, { requestId: first.requestId }) : thrown),
  })

  function isNew({ seq: number }: NdjsonEvent): boolean | 'advance' {
    if (typeof number !== 'number') return true
    if (number <= lastSeq) return false
    lastSeq = number
    return 'advance'
  }

  return {
    get requestId() {
      return first?.requestId
    },
    get headers() {
      return first?.headers
    },
    get turnId() {
      return turnId
    },
    begin: async () => {
      if (!first) await Promise.race([begun, (ahead ??= reader.next())])
    },
    next: () => {
      const event = ahead ?? reader.next()
      ahead = undefined
      return event
    },
    return: reader.return,
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

function openAgain(
  connection: Connection,
  request: { path: string; signal: AbortSignal; timeoutMs: number },
): Promise<OpenStream | undefined> {
  const late = `The service did not respond within ${request.timeoutMs} ms. Try again or allow more time.`
  return openStream(connection, { ...request, late, mayBeEmpty: true })
}

function brokenOff(cause?: unknown, isGone = false): ErrandClientError {
  const why = cause === undefined ? '' : ` (${describeCause(cause)})`
  const message = `The stream was interrupted before its end${why}. Look up the reply's charge in the transactions.`
  return new ErrandClientError(isGone ? 'BAD_RESPONSE' : 'NETWORK_ERROR', message, { cause })
}
