import type { IncomingMessage } from 'node:http'
import { boundElsewhere, requireReach } from '../auth/client-tokens/token-reach.ts'
import type { Caller } from '../auth/caller.ts'
import type { EarlierMessage, MessageSetting } from '../chat/message-input.ts'
import type { OnDisconnect, TurnReader } from '../chat/events/turn-feed.ts'
import { streamReader } from '../http/limits/disconnect-signal.ts'
import type { RoutedRequest } from '../http/routed-request.ts'
import { must } from '../kernel/assert.ts'
import { hashJson } from '../kernel/canonical-json.ts'
import { ErrandError } from '../kernel/errors.ts'
import { callerTurn, holdAnswer } from '../rpc/hold-answer.ts'
import type { RateState } from '../store/records.ts'
import type { WireRequest } from '../store/requests/wire-requests.ts'
import { badParam } from './wire-error.ts'

export type ReplyAsk = {
  body: unknown
  /** Opened only once it is known that the request is no repetition. */
  open: () => Promise<{ sessionId: string; onRefused?: () => Promise<void> }>
  message: EarlierMessage['content']
  params: { temperature?: number; maxTokens?: number }
  setting: Omit<MessageSetting, 'bodyHash'>
  /** What the request calls the fields of a chat. */
  names: Record<string, string>
  onDisconnect?: OnDisconnect
}

/** How long a client that may repeat its request by itself has for that, before the reply is stopped. */
const repeatMs = 3000

/** A reply that is under way, as the client of a request reads it. */
export type Reply = Pick<TurnReader, 'turnId' | 'next'> & {
  /** The client reads no more of it, and it may go on. */
  detach: () => void
  /** Something of it was written, so the request is not repeated. */
  told: () => void
}

/**
 * Admits a request, or finds the reply to an earlier sending of it: with the same Idempotency-Key, or a repetition by its client
 * within a minute.
 */
export async function startReply(stallMs: number, routed: RoutedRequest, ask: ReplyAsk): Promise<Reply> {
  const { context, request, response } = routed
  const { about, idempotencyKey, services } = context
  const caller = callerOf(routed)
  const reader = streamReader(response, stallMs)
  context.stream = reader
  const retries = retriesOf(request)
  const isRepeated = retries !== undefined || idempotencyKey !== null
  const session = request.headers['errand-session'] ?? null
  const bodyHash = isRepeated ? hashJson({ path: routed.path, session, body: ask.body }) : ''
  const isKeyed = idempotencyKey !== null
  const sent = isKeyed || retries === undefined ? null : { digest: bodyHash, retries }
  const earlier = isKeyed
    ? await services.chats.reads.openEarlier(caller, { key: idempotencyKey, bodyHash })
    : sent && sent.retries > 0 && (await openRepeated(sent))
  const turn = earlier || (await start())
  holdAnswer(context)
  // Of two readers of a turn the one that admitted it, or took it over, is known to its row.
  const onCut = () => sent && noteLeft({ digest: sent.digest, resourceId: turn.turnId })
  return readBy(turn, { left: reader.left, patienceMs: isRepeated ? repeatMs : 0, onCut })

  async function openRepeated(request: WireRequest): Promise<TurnReader | undefined> {
    const turnId = await services.store.requests.findTurn({ userId: caller.userId, ...request })
    return turnId === undefined ? undefined : await services.chats.reads.open({ caller, turnId, after: 0 })
  }

  function noteLeft(of: { digest: string; resourceId: string }): void {
    // Without the note a repetition is answered all the same, if no alike request is under way.
    void services.store.requests.left({ userId: caller.userId, ...of }).catch(() => {})
  }

  async function start(): Promise<TurnReader> {
    const { message, names, onDisconnect = 'stop', open, params, setting } = ask
    const { onRefused, sessionId } = await open()
    try {
      const turn = await services.chats.start({
        about,
        caller,
        idempotencyKey,
        request: sent,
        input: { sessionId, message, params, onDisconnect },
        setting: { ...setting, bodyHash },
        signal: reader.left,
        onLarge: () => callerTurn({ caller, request }),
        onRate: (rate: RateState) => (context.rate = rate),
        onWait: () => holdAnswer(context),
      })
      // Another with its Idempotency-Key was admitted meanwhile, and this one reads that.
      if (about.turnId !== turn.turnId) await onRefused?.()
      return turn
    } catch (error) {
      await onRefused?.()
      throw renamed(error, names)
    }
  }
}

export function callerOf({ context }: RoutedRequest): Caller {
  return must(context.caller, 'the route is for callers who are known')
}

/** The session that a request continues. Throws 403, or 404 as for an unknown one, where a client token does not reach it. */
export function sessionOf(routed: RoutedRequest): string | undefined {
  const caller = callerOf(routed)
  const { 'errand-session': sessionId } = routed.request.headers
  if (typeof sessionId !== 'string' || sessionId === '') {
    requireReach(caller, 'account')
    return undefined
  }
  const own = caller.token?.sessionId ?? null
  if (own !== null && own !== sessionId) throw boundElsewhere('session')
  return sessionId
}

/** A refusal of a field by the name that its request has for it. */
function renamed(error: unknown, names: Record<string, string>): unknown {
  const [detail] = error instanceof ErrandError && error.code === 'BAD_REQUEST' ? (error.details ?? []) : []
  return detail && Object.hasOwn(names, detail.path) ? badParam(names[detail.path]!, detail.message) : error
}

/** How often its client has repeated a request; undefined of clients that do not say so, and may not repeat it. */
function retriesOf({ headers }: IncomingMessage): number | undefined {
  const { 'x-stainless-retry-count': count } = headers
  return typeof count === 'string' && /^\d{1,3}$/.test(count) ? Number(count) : undefined
}

/** `onCut` is called if the client leaves before the end. */
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
