import { must } from '../../kernel/assert.ts'
import type { EpochMs } from '../../kernel/clock.ts'
import { formatUsd, type Units } from '../../kernel/money.ts'
import { judgeTurn, withOneMore } from '../judge-admission.ts'
import { sessionStatus } from '../session-records.ts'
import type { StoreLimits } from '../store.ts'
import type { OpenTurn, OpenTurnResult, SettledTurn, SettleTurn } from '../session-inputs.ts'
import { turnEndings } from '../turn-endings.ts'
import type { Op, Reads, Tx } from './command.ts'
import { eventIdOf, recordEvent } from './events/event-rows.ts'
import { askKey, insertKey, stillKept } from './idempotency-rows.ts'
import { activeAfter, askSession, closeTurn, openInSession } from './session-rows.ts'
import { columns, statement } from './statement.ts'

// The commands that move a chat turn. While it is open it holds a part of its account's balance:
//
//   openTurn ──▶ open ──growHold──▶ open ──settleTurn──▶ settled: the hold released, the cost charged, once
//                  └──its process is gone──▶ settled: the hold released, nothing charged

type Row = {
  userId: string
  sessionId: string
  agentId: string
  held: Units
  createdAt: EpochMs
  settledAt: EpochMs | null
  leaseUntil: EpochMs | null
}

const operation = 'chat'

const row = columns('userId sessionId agentId held createdAt settledAt')
const leased = (ofLease: (part: string, without?: string) => string) =>
  `SELECT ${row}, ${ofLease('lease_until', 'NULL')} AS "leaseUntil" FROM turns WHERE id = :turnId`
const get = statement<Row>('turn_get', ({ ofLease }) => leased(ofLease))
const getLocked = statement<Row>('turn_get_locked', ({ forUpdate, ofLease }) => `${leased(ofLease)} ${forUpdate}`)
const insert = statement(
  'turn_insert',
  ({ ofLease }) => `INSERT INTO turns (id, user_id, session_id, agent_id, held, created_at${ofLease(', lease_until')})
    VALUES (:turnId, :userId, :sessionId, :agentId, :held, :now${ofLease(', :leaseUntil')})`,
)
const grow = statement('turn_grow', 'UPDATE turns SET held = held + :by WHERE id = :turnId')
const settle = statement(
  'turn_settle',
  ({ ofLease }) => `UPDATE turns SET held = 0, cost = :cost, outcome = :outcome, settled_at = :now
      ${ofLease(', lease_until = NULL')}
    WHERE id = :turnId AND settled_at IS NULL`,
)
const abandoned = statement<{ id: string }>(
  'turn_abandoned',
  ({ ofLease }) => `SELECT id FROM turns WHERE ${ofLease('lease_until <= :now', 'settled_at IS NULL')} LIMIT :limit`,
)

export function* openTurn(tx: Tx, input: OpenTurn, limits: StoreLimits): Op<OpenTurnResult> {
  const { idempotency, sessionId, turnId, userId } = input
  const asked = {
    account: tx.lockAccount({ userId }),
    session: askSession(tx, { userId, sessionId }),
    rate: tx.rate(userId),
    key: idempotency ? askKey(tx, { userId, operation, key: idempotency.key }) : undefined,
  }
  const account = yield* asked.account
  const session = yield* asked.session
  const rateAt = yield* asked.rate
  const used = asked.key && (yield* asked.key)
  const now = yield* tx.now()
  const rate = rateAt(now)
  const status = session && sessionStatus(session, activeAfter(now, limits))
  const judged = judgeTurn(input, {
    rate,
    account,
    isUsed: stillKept(used, now) !== undefined,
    session: session && status && { status, openTurnId: session.openTurnId },
  })
  if ('outcome' in judged) return judged
  const { taken } = judged
  const { agentId } = must(session, 'a turn has a session')
  tx.hold(userId, taken)
  if (idempotency) insertKey(tx, { userId, operation, ...idempotency, resourceId: turnId }, now)
  const isMarked = openInSession(tx, { sessionId, turnId })
  const leaseUntil = now + limits.leaseSeconds * 1000
  yield* tx.run(insert, { turnId, userId, sessionId, agentId, held: taken, now, leaseUntil })
  yield* isMarked
  tx.accepted(userId, now)
  tx.made({ table: 'turns', id: turnId })
  return { outcome: 'opened', held: taken, rate: withOneMore(rate, now) }
}

export function* growHold(
  tx: Tx,
  { by, least, turnId }: { turnId: string; by: Units; least: Units },
): Op<Units | undefined> {
  if (!(yield* tx.lockOwner({ turnId }))) return undefined
  const turn = yield* tx.get(get, { turnId })
  if (!turn || turn.settledAt !== null) return undefined
  const { userId } = turn
  const { balance, held } = must(yield* tx.account(userId), 'a turn has an account')
  const taken = Math.min(by, balance - held)
  if (taken < least) return undefined
  tx.hold(userId, taken)
  yield* tx.run(grow, { turnId, by: taken })
  return turn.held + taken
}

/** With `if abandoned` only when the turn's lease has passed, or where one process owns the store. */
export function* settleTurn(tx: Tx, input: SettleTurn, when?: 'if abandoned'): Op<SettledTurn | undefined> {
  const { breakdown, cost, outcome, turnId } = input
  if (!(yield* tx.lockOwner({ turnId }))) return undefined
  // A node renews its lease without a lock on the account, so the row is locked before its lease is judged.
  const turn = yield* tx.get(when ? getLocked : get, { turnId })
  if (!turn || turn.settledAt !== null) return undefined
  const now = yield* tx.now()
  if (when && turn.leaseUntil !== null && turn.leaseUntil > now) return undefined
  const { agentId, createdAt: beganAt, held, sessionId, userId } = turn
  yield* askSession(tx, { userId, sessionId })
  tx.hold(userId, -held)
  const account = must(yield* tx.account(userId), 'a turn has an account')
  const charged = Math.min(cost, account.balance - account.held)
  const writtenOff = Math.min(cost - charged, Number.MAX_SAFE_INTEGER)
  if (writtenOff > 0) tx.count({ userId, kind: 'written-off', part: '', status: '', by: writtenOff })
  let { balance } = account
  if (outcome !== 'failed' || charged > 0) {
    const receipt = { ...breakdown, ...(writtenOff > 0 && { writtenOffUsd: formatUsd(writtenOff) }) }
    const description = `Chat with ${agentId}${turnEndings[outcome]}`
    const posting = { userId, type: 'chat_charge', amount: -charged, sessionId, turnId, description, now } as const
    balance = (yield* tx.post({ ...posting, breakdown: receipt })).balance
  }
  yield* tx.run(settle, { turnId, cost: charged, outcome, now })
  const facts = { type: 'chat.settled', turnId, sessionId, agentId, outcome, cost: charged } as const
  recordEvent(tx, { id: eventIdOf(turnId), userId, at: now, facts })
  yield* closeTurn(tx, { sessionId, turn: input, beganAt, now })
  return { charged, balance, writtenOff }
}

/** Ids of open turns whose process is gone. */
export function* abandonedTurns(on: Reads, limit: number): Op<string[]> {
  return (yield* on.all(abandoned, { limit, now: yield* on.now() })).map(({ id }) => id)
}
