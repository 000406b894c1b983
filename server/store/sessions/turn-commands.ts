import { must } from '../../kernel/assert.ts'
import type { EpochMs } from '../../kernel/clock.ts'
import { formatUsd, type Units } from '../../kernel/money.ts'
import { formatExact, withCarried } from './carried-cost.ts'
import { judgeTurn, leftWithin, withOneMore } from '../limits/judge-admission.ts'
import { sessionStatus } from './session-records.ts'
import type { StoreLimits } from '../store.ts'
import type { GrowHold, GrowHoldResult, OpenTurn, OpenTurnResult, SettledTurn, SettleTurn } from './session-types.ts'
import { turnEndings } from './turn-endings.ts'
import type { Op, Reads, Tx } from '../commands/command.ts'
import { eventIdOf, recordEvent, setHasEvent } from '../events/event-commands.ts'
import { askKey, insertKey, stillKept } from '../requests/idempotency-keys.ts'
import { payDebt, spend } from '../payments/debt.ts'
import { takeOnce } from '../platform/client-token-commands.ts'
import { activeAfter, askSession, closeTurn, lastTurnOf, openInSession } from './session-commands.ts'
import { countKeyRate } from '../limits/key-rates.ts'
import { askLimits } from '../limits/limit-facts.ts'
import { countPayloads } from '../limits/payload-bytes.ts'
import { changeCounted, countIn, leftInNamed, noteReached, type CountedIn } from '../limits/spend-windows.ts'
import { book } from '../books/book-commands.ts'
import { insertInto, statement } from '../commands/statement.ts'
import { noteWriteOff, writeOffBlock } from './write-offs.ts'
import { insertRequest, takeRepeated } from '../requests/wire-request-commands.ts'

// Commands that change a chat turn. An open turn holds part of its account's balance:
//
//   openTurn ──▶ open ──growHold──▶ open ──settleTurn──▶ settled: hold released, cost charged once
//                  └──its process crashes──▶ settled: hold released, nothing charged

type Row = {
  userId: string
  sessionId: string
  agentId: string
  keyId: string | null
  held: Units
  maxCost: Units | null
  createdAt: EpochMs
  settledAt: EpochMs | null
  leaseUntil: EpochMs | null
  countedIn: CountedIn
  sessionMaxCost: Units | null
  /** Null for a turn without a session. */
  spent: Units | null
}

const operation = 'chat'

const get = statement<Row>(
  'turn_get',
  ({
    ofLease,
  }) => `SELECT k.user_id AS "userId", k.session_id AS "sessionId", k.agent_id AS "agentId", k.key_id AS "keyId", k.held,
      k.max_cost AS "maxCost", k.created_at AS "createdAt", k.settled_at AS "settledAt", k.counted_in AS "countedIn",
      ${ofLease('k.lease_until', 'NULL')} AS "leaseUntil", s.max_cost AS "sessionMaxCost", s.spent
    FROM turns AS k LEFT JOIN sessions AS s ON s.id = k.session_id WHERE k.id = :turnId`,
)
const lock = statement('turn_lock', ({ forUpdate }) => `SELECT id FROM turns WHERE id = :turnId ${forUpdate}`)
const insert = statement(
  'turn_insert',
  ({ ofLease }) => `INSERT INTO turns
      (id, user_id, session_id, agent_id, key_id, held, max_cost, quote_id, counted_in, created_at${ofLease(', lease_until')})
    VALUES (:turnId, :userId, :sessionId, :agentId, :keyId, :held, :maxCost, :quoteId, :countedIn, :now${ofLease(', :leaseUntil')})`,
)
const insertFile = statement(
  'turn_insert_file',
  insertInto('payloads', 'id taskId createdAt bytes sha256 mediaType filename tokens'),
)
// The index is partial, and is used only if the query repeats its condition.
const removeFiles = statement(
  'turn_delete_files',
  'DELETE FROM payloads WHERE media_type IS NOT NULL AND task_id = :turnId',
)
const byQuote = statement<{ id: string }>(
  'turn_by_quote',
  'SELECT id FROM turns WHERE quote_id = :quoteId AND quote_id IS NOT NULL',
)
const grow = statement('turn_grow', 'UPDATE turns SET held = held + :by WHERE id = :turnId')
const settle = statement<{ hasEvent: number }>(
  'turn_settle',
  ({
    ofLease,
  }) => `UPDATE turns SET held = 0, cost = :cost, provider_cost = :providerCost, outcome = :outcome, settled_at = :now,
      ${setHasEvent('turns')}${ofLease(', lease_until = NULL')}
    WHERE id = :turnId AND settled_at IS NULL RETURNING has_event AS "hasEvent"`,
)
const abandoned = statement<{ id: string }>(
  'turn_abandoned',
  ({ ofLease }) => `SELECT id FROM turns WHERE ${ofLease('lease_until <= :now', 'settled_at IS NULL')} LIMIT :limit`,
)

export function* openTurn(tx: Tx, input: OpenTurn, limits: StoreLimits): Op<OpenTurnResult> {
  const { idempotency, keyId = null, maxCost = null, quoteId = null, request, sessionId, turnId, userId } = input
  const { replaces = null, title = null } = input
  const asked = {
    // Sent first, so that all other reads run under the lock.
    account: tx.lockAccount({ userId }),
    limits: askLimits(tx, { ...input, payloadBytes: bytesOf(input) }, limits),
    session: input.agentId === undefined ? askSession(tx, { userId, sessionId }) : undefined,
    key: idempotency ? askKey(tx, { userId, operation, key: idempotency.key }) : undefined,
    quote: quoteId === null ? undefined : tx.get(byQuote, { quoteId }),
  }
  const account = must(yield* asked.account, 'an authenticated user has an account')
  const session = asked.session && (yield* asked.session)
  const used = asked.key && (yield* asked.key)
  const quoted = asked.quote && (yield* asked.quote)
  const now = yield* tx.now()
  const read = yield* asked.limits(account, { now, ofTask: false })
  const repeated = request ? yield* takeRepeated(tx, { ...request, userId }) : undefined
  if (repeated !== undefined) return { outcome: 'refused', reason: 'repeated', turnId: repeated, rate: read.rate }
  const status = session && sessionStatus(session, activeAfter(now, limits))
  const isLast = replaces === null || (session && (yield* lastTurnOf(tx, session.id)) === replaces)
  const judged = judgeTurn(input, {
    ...read,
    account,
    blockedUntil: writeOffBlock(account, { limits, now }),
    isUsed: stillKept(used, now) !== undefined,
    isQuoteUsed: quoted !== undefined,
    replacesOther: !isLast,
    left: leftWithin(maxCost, session),
    session: status && session ? { status, agentId: session.agentId, openTurnId: session.openTurnId } : unkept(input),
  })
  if ('outcome' in judged) {
    if (judged.outcome === 'refused' && judged.reason === 'limit') {
      yield* noteReached(tx, judged.window, { userId, now })
    }
    return judged
  }
  if (!(yield* takeOnce(tx, input.limits))) return { outcome: 'refused', reason: 'token-used', rate: read.rate }
  const { room, taken } = judged
  const { agentId } = must(session ?? unkept(input), 'a turn has an agent')
  tx.hold(userId, taken)
  if (idempotency) insertKey(tx, { userId, operation, ...idempotency, resourceId: turnId }, now)
  if (request) insertRequest(tx, { ...request, userId, resourceId: turnId, now })
  const isMarked = session && openInSession(tx, { sessionId, turnId, title })
  const leaseUntil = now + limits.leaseSeconds * 1000
  const countedIn = countIn(tx, read.windows, { userId, held: taken })
  if (read.keyRate) countKeyRate(tx, input.limits!.rate!.keyId, read.keyRate)
  const turn = { turnId, userId, sessionId, agentId, keyId, held: taken, maxCost, quoteId, countedIn, now, leaseUntil }
  yield* tx.run(insert, turn)
  if (isMarked) yield* isMarked
  for (const { digest, filename, id, mediaType, tokens } of input.files ?? []) {
    tx.send(insertFile, { id, taskId: turnId, createdAt: now, ...digest, mediaType, filename, tokens })
  }
  countPayloads(tx, { userId, bytes: bytesOf(input), now })
  tx.accepted(userId, now)
  tx.made({ table: 'turns', id: turnId })
  return { outcome: 'opened', held: taken, room, rate: withOneMore(read.rate, now) }
}

function bytesOf({ files = [] }: OpenTurn): number {
  return files.reduce((sum, { digest }) => sum + digest.bytes, 0)
}

/** Stands in for the session of a turn that has none. */
function unkept({ agentId }: OpenTurn) {
  return agentId === undefined ? undefined : ({ status: 'active', agentId, openTurnId: null } as const)
}

/** Increases a turn's hold. Uses the current caps, because a session's cap can change while its turn is open. */
export function* growHold(tx: Tx, { by, least, turnId }: GrowHold, limits: StoreLimits): Op<GrowHoldResult> {
  if (!(yield* tx.lockOwner({ turnId }))) return { outcome: 'refused', reason: 'over' }
  const turn = yield* tx.get(get, { turnId })
  if (!turn || turn.settledAt !== null) return { outcome: 'refused', reason: 'over' }
  const { countedIn, userId } = turn
  const account = must(yield* tx.account(userId), 'a turn has an account')
  const { balance, held } = account
  const ofCaps = leftOf(turn) - turn.held
  const windows = yield* leftInNamed(tx, { account, countedIn, limits })
  const free = Math.min(balance - held, ofCaps, windows.left)
  if (free < least) {
    if (free === ofCaps) return { outcome: 'refused', reason: 'budget' }
    if (!windows.least || free < windows.left) return { outcome: 'refused', reason: 'balance' }
    yield* noteReached(tx, windows.least, { userId, now: yield* tx.now() })
    return { outcome: 'refused', reason: 'limit' }
  }
  const taken = Math.min(by, free)
  tx.hold(userId, taken)
  changeCounted(tx, countedIn, { held: taken })
  yield* tx.run(grow, { turnId, by: taken })
  return { outcome: 'held', held: turn.held + taken, free: free - taken }
}

function leftOf({ maxCost, sessionMaxCost, spent }: Row): Units {
  return leftWithin(maxCost, spent === null ? undefined : { maxCost: sessionMaxCost, spent })
}

/** If `ifAbandoned` is set, settles the turn only if its lease has expired or the engine has no leases. */
export function* settleTurn(
  tx: Tx,
  input: SettleTurn,
  { ifAbandoned = false, limits }: { limits: StoreLimits; ifAbandoned?: boolean },
): Op<SettledTurn | undefined> {
  const { breakdown, cost, model, outcome, providerCost = null, remainder = 0, turnId } = input
  if (!(yield* tx.lockOwner({ turnId }))) return undefined
  // Nodes renew leases without locking the account, so lock the row before checking the lease.
  if (ifAbandoned) yield* tx.get(lock, { turnId })
  const turn = yield* tx.get(get, { turnId })
  if (!turn || turn.settledAt !== null) return undefined
  const now = yield* tx.now()
  if (ifAbandoned && turn.leaseUntil !== null && turn.leaseUntil > now) return undefined
  const { agentId, countedIn, createdAt: beganAt, held, keyId, sessionId, userId } = turn
  const account = must(yield* tx.account(userId), 'a turn has an account')
  const { carriedOn, due } = withCarried({ cost, remainder }, account.carried)
  // A cost within the hold is also within the spend windows.
  const ofWindows = due <= held ? Infinity : held + (yield* leftInNamed(tx, { account, countedIn, limits })).left
  const free = account.balance - account.held + held
  const charged = Math.min(due, free, leftOf(turn), ofWindows)
  changeCounted(tx, countedIn, { charged, held: -held })
  // A failure without a charge has no receipt, so the account keeps its remainder for the next chat.
  const hasReceipt = outcome !== 'failed' || charged > 0
  const writtenOff = Math.min((hasReceipt ? due : cost) - charged, Number.MAX_SAFE_INTEGER)
  if (writtenOff > 0) {
    tx.count({ userId, kind: 'written-off', part: '', status: '', by: writtenOff })
    noteWriteOff(tx, account, { amount: writtenOff, now })
  }
  let { balance } = account
  if (hasReceipt) {
    const receipt = {
      ...breakdown,
      exactUsd: formatExact({ cost, remainder }),
      carriedBeforeUsd: formatExact({ cost: 0, remainder: account.carried }),
      carriedAfterUsd: formatExact({ cost: 0, remainder: carriedOn }),
      ...(writtenOff > 0 && { writtenOffUsd: formatUsd(writtenOff) }),
    }
    // Only a charge with a receipt changes the carried remainder, because each receipt starts with the remainder of the
    // previous one.
    const settles = { held, carried: carriedOn }
    const description = `Chat with ${agentId}${turnEndings[outcome]}`
    const posting = { userId, type: 'chat_charge', amount: -charged, sessionId, turnId, description, now } as const
    balance = (yield* spend(tx, account, { ...posting, breakdown: receipt, settles })).balance
  } else tx.hold(userId, -held)
  if (account.owed > 0) balance = yield* payDebt(tx, { userId, now })
  const booked = { userId, agentId, keyId, model, plan: account.plan, charged, providerCost, now }
  book(tx, { ...booked, isFailure: outcome === 'failed', writtenOff: Math.max(0, writtenOff) })
  const settled = yield* tx.get(settle, { turnId, cost: charged, providerCost, outcome, now })
  if (settled?.hasEvent === 1) {
    const facts = { type: 'chat.settled', turnId, sessionId, agentId, outcome, cost: charged } as const
    recordEvent(tx, { id: eventIdOf(turnId), userId, at: now, facts })
  }
  // Without an exchange, the message is not stored, so delete its files.
  if (!input.exchange) yield* tx.run(removeFiles, { turnId })
  yield* closeTurn(tx, { sessionId, turn: input, charged, beganAt, now })
  return { charged, balance, writtenOff }
}

export function* abandonedTurns(on: Reads, limit: number): Op<string[]> {
  return (yield* on.all(abandoned, { limit, now: yield* on.now() })).map(({ id }) => id)
}
