import { must } from '../../kernel/assert.ts'
import type { Clock } from '../../kernel/clock.ts'
import { formatUsd, type Units } from '../../kernel/money.ts'
import { judgeTurn, withOneMore } from '../judge-admission.ts'
import { nothingUsed, turnEndings } from '../turn-endings.ts'
import type { OpenTurn, OpenTurnResult, SettledTurn, SettleTurn } from '../store.ts'
import { and, eq, isNull, sql } from './drizzle.ts'
import type { Counters } from './counters.ts'
import type { Connection } from './database.ts'
import type { IdempotencyRows } from './idempotency-rows.ts'
import type { Ledger } from './ledger.ts'
import type { RateWindow } from './rate-window.ts'
import { accounts, turns } from './schema.ts'
import type { SessionRows } from './session-rows.ts'

type Parts = {
  clock: Clock
  counters: Counters
  idempotency: IdempotencyRows
  ledger: Ledger
  rateWindow: RateWindow
  sessions: SessionRows
}

const operation = 'chat'

const closedAtOnce = 1000

/**
 * The commands that move a chat turn. While it is open it holds a part of its account's balance:
 *
 *   openTurn ──▶ open ──growHold──▶ open ──settleTurn──▶ settled: the hold released, the cost charged, once
 *                  └──closeAbandonedTurns (after a crash)──▶ settled: the hold released, nothing charged
 */
export class TurnCommands {
  readonly #parts: Parts
  readonly #statements

  constructor(connection: Connection, parts: Parts) {
    this.#parts = parts
    this.#statements = prepare(connection)
  }

  open(input: OpenTurn): OpenTurnResult {
    const { idempotency, sessionId, turnId, userId } = input
    const { clock, idempotency: keys, ledger, rateWindow, sessions } = this.#parts
    const now = clock.now()
    const rate = rateWindow.read(userId, now)
    const isUsed = idempotency !== null && keys.find({ userId, operation, key: idempotency.key }, now) !== undefined
    const session = sessions.find({ userId, sessionId })
    const facts = {
      rate,
      isUsed,
      session: session && { status: sessions.status(session), openTurnId: session.openTurnId },
      account: ledger.account(userId),
    }
    const judged = judgeTurn(input, facts)
    if ('outcome' in judged) return judged
    const { taken } = judged
    const { agentId } = must(session, 'a turn has a session')
    this.#statements.hold.run({ userId, by: taken })
    this.#statements.insert.run({ id: turnId, userId, sessionId, agentId, held: taken, now })
    sessions.open(sessionId, turnId)
    if (idempotency) keys.insert({ userId, operation, ...idempotency, resourceId: turnId }, now)
    rateWindow.accepted(userId, now)
    return { outcome: 'opened', held: taken, rate: withOneMore(rate, now) }
  }

  grow({ turnId, by, least }: { turnId: string; by: Units; least: Units }): Units | undefined {
    const turn = this.#statements.get.get({ turnId })
    if (!turn || turn.settledAt !== null) return undefined
    const { balance, held } = must(this.#parts.ledger.account(turn.userId), 'a turn has an account')
    const taken = Math.min(by, balance - held)
    if (taken < least) return undefined
    this.#statements.hold.run({ userId: turn.userId, by: taken })
    this.#statements.grow.run({ turnId, by: taken })
    return turn.held + taken
  }

  settle(input: SettleTurn): SettledTurn | undefined {
    const { clock, ledger, sessions } = this.#parts
    const { breakdown, cost, outcome, turnId } = input
    const turn = this.#statements.get.get({ turnId })
    if (!turn || turn.settledAt !== null) return undefined
    const now = clock.now()
    const { held, sessionId, userId } = turn
    this.#statements.hold.run({ userId, by: -held })
    const account = must(ledger.account(userId), 'a turn has an account')
    const charged = Math.min(cost, account.balance - account.held)
    const writtenOff = Math.min(cost - charged, Number.MAX_SAFE_INTEGER)
    if (writtenOff > 0) this.#parts.counters.writtenOff(userId, writtenOff)
    let { balance } = account
    if (outcome !== 'failed' || charged > 0) {
      const receipt = { ...breakdown, ...(writtenOff > 0 && { writtenOffUsd: formatUsd(writtenOff) }) }
      const description = `Chat with ${turn.agentId}${turnEndings[outcome]}`
      const posting = { userId, type: 'chat_charge', amount: -charged, sessionId, turnId, description, now } as const
      balance = ledger.post({ ...posting, breakdown: receipt }).balance
    }
    this.#statements.settle.run({ turnId, cost: charged, outcome, now })
    sessions.close({ sessionId, turn: input, beganAt: turn.createdAt, now })
    return { charged, balance, writtenOff }
  }

  closeOpen(): number {
    const open = this.#statements.open.all({ limit: closedAtOnce })
    for (const { id: turnId } of open) {
      this.settle({ turnId, outcome: 'failed', cost: 0, breakdown: nothingUsed, exchange: null })
    }
    return open.length
  }
}

function prepare({ orm }: Connection) {
  const thisTurn = eq(turns.id, sql.placeholder('turnId'))
  return {
    get: orm.select().from(turns).where(thisTurn).prepare(),
    insert: orm
      .insert(turns)
      .values({
        id: sql.placeholder('id'),
        userId: sql.placeholder('userId'),
        sessionId: sql.placeholder('sessionId'),
        agentId: sql.placeholder('agentId'),
        held: sql.placeholder('held'),
        createdAt: sql.placeholder('now'),
      })
      .prepare(),
    /** The account's CHECK throws, and so undoes the command, if more would be held than the balance. */
    hold: orm
      .update(accounts)
      .set({ held: sql`${accounts.held} + ${sql.placeholder('by')}` })
      .where(eq(accounts.userId, sql.placeholder('userId')))
      .prepare(),
    grow: orm
      .update(turns)
      .set({ held: sql`${turns.held} + ${sql.placeholder('by')}` })
      .where(thisTurn)
      .prepare(),
    settle: orm
      .update(turns)
      .set({
        held: 0,
        cost: sql`${sql.placeholder('cost')}`,
        outcome: sql`${sql.placeholder('outcome')}`,
        settledAt: sql`${sql.placeholder('now')}`,
      })
      .where(and(thisTurn, isNull(turns.settledAt)))
      .prepare(),
    open: orm
      .select({ id: turns.id })
      .from(turns)
      .where(sql`settled_at IS NULL`)
      .limit(sql.placeholder('limit'))
      .prepare(),
  }
}
