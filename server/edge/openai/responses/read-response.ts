import type { SessionRecord } from '../../../store/sessions/session-types.ts'
import { boundSessionOf, type Caller } from '../../../procedures/caller.ts'
import type { TurnReader } from '../../../chat/events/turn-feed.ts'
import type { RoutedRequest } from '../../../http/routed-request.ts'
import { streamReader } from '../../../http/limits/disconnect-signal.ts'
import { ErrandError } from '../../../kernel/errors.ts'
import { formatUsd } from '../../../kernel/money.ts'
import { holdAnswer } from '../../../procedures/hold-answer.ts'
import type { OpenaiParts } from '../openai-parts.ts'
import { deleteSession } from '../../../chat/sessions/session-operations.ts'
import type { TurnRecord } from '../../../store/sessions/turn-types.ts'
import { collectReply, type ReplyPart } from '../collect-reply.ts'
import { usageOf, type ReplyEnd } from '../reply-end.ts'
import { callerOf } from '../start-reply.ts'
import { badParam, WireError } from '../wire-error.ts'
import { toResponse, type ResponseRequest } from './response-resource.ts'

type Named = { caller: Caller; id: string; param?: string }
type Kept = { turn: TurnRecord; session: SessionRecord }

const cancelMsMax = 10_000

/** Throws 404 for a response that is unknown, belongs to another user, or is not stored. */
export async function responseTurn(wire: OpenaiParts, of: Named): Promise<TurnRecord> {
  return (await keptResponse(wire, of)).turn
}

async function keptResponse({ store }: OpenaiParts, { caller, id, param = 'response_id' }: Named): Promise<Kept> {
  const { userId } = caller
  const only = boundSessionOf(caller)
  const isOurs = /^resp_[0-9a-z]{1,60}$/.test(id)
  const turnId = `turn_${id.slice('resp_'.length)}`
  const turn = isOurs ? await store.turnEvents.findTurn({ userId, turnId }) : undefined
  const isReached = turn && (only === null || only === turn.sessionId)
  const session = isReached ? await store.getSession({ userId, sessionId: turn.sessionId }) : undefined
  if (turn && session) return { turn, session }
  throw new WireError(
    'NOT_FOUND',
    'The response does not exist or was not stored. To read responses later, create them with store set to true.',
    {
      param,
      code: 'response_not_found',
    },
  )
}

/** Returns the current state of a response. After its events expire, only its text and usage are known. */
export async function readResponse(wire: OpenaiParts, of: Named): Promise<object> {
  const kept = await keptResponse(wire, of)
  const { turn } = kept
  if (turn.settledAt === null) return asResponse(kept, null)
  const told = await readStoredEvents(wire, { caller: of.caller, turnId: turn.turnId })
  const { end, parts } = told ?? (await whatIsKept(wire, turn))
  return asResponse(kept, { end, parts, at: turn.settledAt })
}

export async function openResponse(wire: OpenaiParts, routed: RoutedRequest, id: string) {
  const { context, response } = routed
  const caller = callerOf(routed)
  const kept = await keptResponse(wire, { caller, id })
  const { createdAt, turnId } = kept.turn
  context.stream = streamReader(response, wire.stallMs)
  const reader = await wire.chats.reads.open({ caller, turnId, after: 0 })
  if (!reader)
    throw new ErrandError('NOT_FOUND', 'The response does not have events to stream. Retrieve it without stream=true.')
  context.stream.left.addEventListener('abort', () => reader.leave(), { once: true })
  if (context.stream.left.aborted) reader.leave()
  holdAnswer(context)
  return { turnId, createdAt, asked: askedOf(kept), reader }
}

export async function cancelResponse(wire: OpenaiParts, of: Named): Promise<object> {
  const { turn } = await keptResponse(wire, of)
  const { caller } = of
  const { turnId } = turn
  if (turn.settledAt === null) {
    await wire.chats.reads.stop({ caller, turnId })
    const reader = await wire.chats.reads.open({ caller, turnId, after: 0 })
    const timer = setTimeout(() => reader?.leave(), cancelMsMax)
    try {
      for (let lines = await reader?.next(); lines !== undefined;) lines = await reader?.next()
    } finally {
      clearTimeout(timer)
    }
  }
  return await readResponse(wire, of)
}

/** Deletes the conversation that ends with this response. Its transactions remain. */
export async function deleteResponse(wire: OpenaiParts, of: Named): Promise<object> {
  const { session, turn } = await keptResponse(wire, of)
  const { userId } = of.caller
  const last = { userId, sessionId: session.id, limit: 1, offset: Math.max(0, session.messageCount - 1) }
  const { messages = [] } = (await wire.store.listMessages(last)) ?? {}
  if (messages[0] && messages[0].turnId !== turn.turnId) {
    throw badParam(
      'response_id',
      'Must be the last response in its conversation, because deleting it deletes the whole conversation',
    )
  }
  await deleteSession(wire.sessions, { caller: of.caller, sessionId: session.id })
  return { id: of.id, object: 'response', deleted: true }
}

type ReadReply = { end: ReplyEnd; parts: ReplyPart[] }

async function readStoredEvents(
  wire: OpenaiParts,
  of: { caller: Caller; turnId: string },
): Promise<ReadReply | undefined> {
  let reader: TurnReader | undefined
  try {
    reader = await wire.chats.reads.open({ ...of, after: 0 })
    return reader && (await collectReply(reader, { store: wire.store, userId: of.caller.userId }))
  } catch (error) {
    if (error instanceof ErrandError && error.code === 'EVENTS_EXPIRED') return undefined
    throw error
  } finally {
    reader?.leave()
  }
}

async function whatIsKept({ store }: OpenaiParts, turn: TurnRecord): Promise<ReadReply> {
  const { cost, outcome, sessionId, turnId, userId } = turn
  const costUsd = formatUsd(cost ?? 0)
  const usage = await usageOf(store, { turnId, userId })
  const reply = await store.readReply({ sessionId, turnId })
  const parts: ReplyPart[] = reply ? [{ kind: 'text', text: reply }] : []
  if (outcome !== 'failed' && usage) {
    const isCut = outcome === 'truncated'
    const end = { usage, costUsd, error: null } as const
    return {
      parts,
      end: isCut ? { ...end, kind: 'cut', code: 'INTERRUPTED' } : { ...end, kind: 'finished', code: null },
    }
  }
  const error = new ErrandError(
    'INTERNAL_ERROR',
    'The reply failed, and its error is no longer stored. Send the message again.',
  )
  return { parts, end: { kind: 'failed', usage, costUsd, error } }
}

function asResponse(kept: Kept, ended: Parameters<typeof toResponse>[0]['ended']): object {
  const { createdAt, turnId } = kept.turn
  return toResponse({ turnId, asked: askedOf(kept), createdAt, ended })
}

function askedOf({ session, turn }: Kept): ResponseRequest {
  const pairs = Object.entries(session.metadata).filter((pair): pair is [string, string] => typeof pair[1] === 'string')
  return {
    model: turn.agentId,
    sessionId: session.id,
    instructions: null,
    previousId: null,
    temperature: null,
    maxTokens: null,
    metadata: Object.fromEntries(pairs),
    format: { type: 'text' },
    isBackground: false,
  }
}
