import type { RateState } from '../../store/limits/limit-types.ts'
import type { IncomingMessage } from 'node:http'
import { boundElsewhere, requireReach } from '../../procedures/token-reach.ts'
import { boundSessionOf, type Caller } from '../../procedures/caller.ts'
import type { EarlierMessage, MessageSetting } from '../../chat/message-input.ts'
import type { OnDisconnect, TurnReader } from '../../chat/events/turn-feed.ts'
import { streamReader } from '../../http/limits/disconnect-signal.ts'
import type { RoutedRequest } from '../../http/routed-request.ts'
import { assert } from '../../kernel/assert.ts'
import { hashJson } from '../../kernel/canonical-json.ts'
import { ErrandError } from '../../kernel/errors.ts'
import { callerTurn, holdAnswer } from '../../procedures/hold-answer.ts'
import type { WireRequest } from '../../store/requests/wire-request-types.ts'
import type { OpenaiParts } from './openai-parts.ts'
import { badParam } from './wire-error.ts'

export type ReplyAsk = {
  body: unknown
  /** Called only if there is no earlier copy of the request. */
  open: () => Promise<{ sessionId: string; onRefused?: () => Promise<void> }>
  message: EarlierMessage['content']
  params: { temperature?: number; maxTokens?: number }
  setting: Omit<MessageSetting, 'bodyHash'>
  names: Record<string, string>
  onDisconnect?: OnDisconnect
}

/** A disconnected client can retry its request for this long before the reply is stopped. */
const repeatMs = 3000

export type Reply = Pick<TurnReader, 'turnId' | 'next'> & {
  detach: () => void
  /** Call this once part of the reply has been written. From then on, the client will not repeat its request. */
  told: () => void
}

/**
 * Admits a request, or finds the reply to an earlier copy of it. An identical request is a copy if it has the same
 * Idempotency-Key, or if it came from the same client within the last minute.
 */
export async function startReply(parts: OpenaiParts, routed: RoutedRequest, ask: ReplyAsk): Promise<Reply> {
  const { context, request, response } = routed
  const { about, idempotencyKey, shared } = context
  const caller = callerOf(routed)
  const reader = streamReader(response, parts.stallMs)
  context.stream = reader
  const retries = retriesOf(request)
  const isRepeated = retries !== undefined || idempotencyKey !== null
  const session = request.headers['errand-session'] ?? null
  const bodyHash = isRepeated ? hashJson({ path: routed.path, session, body: ask.body }) : ''
  const isKeyed = idempotencyKey !== null
  const sent = isKeyed || retries === undefined ? null : { digest: bodyHash, retries }
  const earlier = isKeyed
    ? await parts.chats.reads.openEarlier(caller, { key: idempotencyKey, bodyHash })
    : sent && sent.retries > 0 && (await openRepeated(sent))
  const turn = earlier || (await start())
  holdAnswer(context)
  // A turn can have several readers but only one database row, so mark the row if any reader disconnects.
  const onCut = () => sent && noteLeft({ digest: sent.digest, resourceId: turn.turnId })
  return readBy(turn, { left: reader.left, patienceMs: isRepeated ? repeatMs : 0, onCut })

  async function openRepeated(request: WireRequest): Promise<TurnReader | undefined> {
    const turnId = await parts.store.requests.findTurn({ userId: caller.userId, ...request })
    return turnId === undefined ? undefined : await parts.chats.reads.open({ caller, turnId, after: 0 })
  }

  function noteLeft(of: { digest: string; resourceId: string }): void {
    // If this write fails, a repeated request still finds the reply, unless an identical request is in progress.
    void parts.store.requests.left({ userId: caller.userId, ...of }).catch(() => {})
  }

  async function start(): Promise<TurnReader> {
    const { message, names, onDisconnect = 'stop', open, params, setting } = ask
    const { onRefused, sessionId } = await open()
    try {
      const turn = await parts.chats.start({
        about,
        caller,
        idempotencyKey,
        request: sent,
        input: { sessionId, message, params, onDisconnect },
        setting: { ...setting, bodyHash },
        signal: reader.left,
        onLarge: () => callerTurn({ caller, request, shared }),
        onRate: (rate: RateState) => (context.rate = rate),
        onWait: () => holdAnswer(context),
      })
      // If another copy of this request has been admitted in the meantime, read the reply to that copy.
      if (about.turnId !== turn.turnId) await onRefused?.()
      return turn
    } catch (error) {
      await onRefused?.()
      throw renamed(error, names)
    }
  }
}

export function callerOf({ context }: RoutedRequest): Caller {
  const { caller } = context
  assert(caller && !('platform' in caller), 'only users can call this route')
  return caller
}

/**
 * Returns the session that a request continues. Throws 404 if a client token is restricted to another session, and 403
 * if the token is restricted but the request names no session.
 */
export function sessionOf(routed: RoutedRequest): string | undefined {
  const caller = callerOf(routed)
  const { 'errand-session': sessionId } = routed.request.headers
  if (typeof sessionId !== 'string' || sessionId === '') {
    requireReach(caller, 'account')
    return undefined
  }
  const own = boundSessionOf(caller)
  if (own !== null && own !== sessionId) throw boundElsewhere('session')
  return sessionId
}

/** Replaces a chat field's name in an error with the name that the request uses. */
function renamed(error: unknown, names: Record<string, string>): unknown {
  const [detail] = error instanceof ErrandError && error.code === 'BAD_REQUEST' ? (error.details ?? []) : []
  return detail && Object.hasOwn(names, detail.path) ? badParam(names[detail.path]!, detail.message) : error
}

/**
 * Returns how often the client has repeated the request, or undefined if it sends no retry count and may never retry.
 */
function retriesOf({ headers }: IncomingMessage): number | undefined {
  const { 'x-stainless-retry-count': count } = headers
  return typeof count === 'string' && /^\d{1,3}$/.test(count) ? Number(count) : undefined
}

type ReadBy = { left: AbortSignal; patienceMs: number; onCut: () => void }

function readBy(turn: TurnReader, { left, onCut, patienceMs }: ReadBy): Reply {
  let isTold = false
  let isOver = false
  const gone = () => {
    if (!isOver) onCut()
    if (isTold || patienceMs === 0) turn.leave()
    else setTimeout(() => turn.leave(), patienceMs).unref()
  }
  if (left.aborted) gone()
  else left.addEventListener('abort', gone, { once: true })
  return {
    turnId: turn.turnId,
    next: async () => {
      const lines = await turn.next()
      isOver ||= lines === undefined
      return lines
    },
    detach: () => turn.leave(),
    told: () => (isTold = true),
  }
}
