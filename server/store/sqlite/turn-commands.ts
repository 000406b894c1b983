import { must } from '../../kernel/assert.ts'
import type { Clock } from '../../kernel/clock.ts'
import { formatUsd, type Units } from '../../kernel/money.ts'
import type { OpenTurn, OpenTurnResult, SettledTurn, SettleTurn } from '../store.ts'
import { and, eq, isNull, sql } from './drizzle.ts'
import type { Connection } from './database.ts'
import type { IdempotencyRows } from './idempotency-rows.ts'
import type { Ledger } from './ledger.ts'
import type { RateWindow } from './rate-window.ts'
import { accounts, turns } from './schema.ts'
import type { SessionRows } from './session-rows.ts'

type Parts = {
  clock: Clock
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
 *                  └──closeOpenTurns (after a crash)──▶ settled: the hold released, nothing charged
 */
export class TurnCommands {
  readonly #parts: Parts
  readonly #statements

  constructor(connection: Connection, parts: Parts) {
    this.#parts = parts
    this.#statements = prepare(connection)
  }

  open({ hold, idempotency, leaving, required, sessionId, turnId, userId }: OpenTurn): OpenTurnResult {
    const { clock, idempotency: keys, ledger, rateWindow, sessions } = this.#parts
    const now = clock.now()
    const rate = rateWindow.read(userId, now)
    if (idempotency && keys.find({ userId, operation, key: idempotency.key }, now)) {
      return { outcome: 'refused', reason: 'idempotency-conflict', rate }
    }
    const session = sessions.find({ userId, sessionId })
    if (!session) return { outcome: 'refused', reason: 'unknown', rate }
    const status = sessions.status(session)
    if (status !== 'active') return { outcome: 'refused', reason: status, rate }
    if (session.openTurnId !== null) return { outcome: 'refused', reason: 'busy', rate }
    if (rate.limit > 0 && rate.used >= rate.limit) return { outcome: 'refused', reason: 'rate', rate }
    const { balance, held } = must(ledger.account(userId), 'an authenticated user has an account')
    const free = balance - held
    const taken = Math.min(hold, free)
    if (free < required || free - taken < leaving) {
      return { outcome: 'refused', reason: 'balance', balance, held, required, rate }
    }
    this.#statements.hold.run({ userId, by: taken })
    this.#statements.insert.run({ id: turnId, userId, sessionId, agentId: session.agentId, held: taken, now })
    sessions.open(sessionId, turnId)
    if (idempotency) keys.insert({ userId, operation, ...idempotency, resourceId: turnId }, now)
    rateWindow.accepted(userId, now)
    const seen = rate.limit === 0 ? rate : { ...rate, used: rate.used + 1, oldestAt: rate.oldestAt ?? now }
    return { outcome: 'opened', held: taken, rate: seen }
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
    let { balance } = account
    if (outcome !== 'failed' || charged > 0) {
      const receipt = { ...breakdown, ...(writtenOff > 0 && { writtenOffUsd: formatUsd(writtenOff) }) }
      const description = `Chat with ${turn.agentId}${endings[outcome]}`
      const posting = { userId, type: 'chat_charge', amount: -charged, sessionId, turnId, description, now } as const
      balance = ledger.post({ ...posting, breakdown: receipt }).balance
    }
    this.#statements.settle.run({ turnId, cost: charged, outcome, now })
    sessions.close({ sessionId, turn: input, beganAt: turn.createdAt, now })
    return { charged, balance }
  }

  closeOpen(): number {
    const open = this.#statements.open.all({ limit: closedAtOnce })
    for (const { id: turnId } of open) {
      this.settle({ turnId, outcome: 'failed', cost: 0, breakdown: nothingUsed, exchange: null })
    }
    return open.length
  }
}

/** What a charge's description says of how the turn ended. */
const endings = { finished: '', truncated: ', cut off', failed: ', failed' } as const

const nothingUsed: SettleTurn['breakdown'] = {
  promptTokens: 0,
  cachedPromptTokens: 0,
  completionTokens: 0,
  reasoningTokens: 0,
  toolCalls: 0,
  rates: {
    inputPer1kUsd: '0',
    cachedInputPer1kUsd: '0',
    outputPer1kUsd: '0',
    reasoningPer1kUsd: '0',
    toolCallUsd: '0',
  },
  isEstimated: false,
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
