import type { Units } from '../../kernel/money.ts'
import { formatUsd } from '../../kernel/money.ts'
import { judgeTurn, withOneMore } from '../judge-admission.ts'
import { sessionStatus } from '../session-records.ts'
import type { OpenTurn, OpenTurnResult, SettledTurn, SettleTurn } from '../store.ts'
import { turnEndings } from '../turn-endings.ts'
import { countWrittenOff } from './counters.ts'
import type { Connection } from './pooled-connection.ts'
import { and, eq, isNull, lte, sql } from './drizzle.ts'
import { insertKey, readKey, stillKept } from './idempotency-rows.ts'
import type { Ledger } from './ledger.ts'
import type { RateWindow } from './rate-window.ts'
import { turns } from './schema.ts'
import type { SessionRows } from './session-rows.ts'
import { statementsOf } from './statements.ts'
import type { Transaction } from './transaction.ts'

type Parts = { ledger: Ledger; rateWindow: RateWindow; sessions: SessionRows; leaseMs: number }

const operation = 'chat'

/** The commands that move a chat turn, as store/sqlite/turn-commands.ts draws them. */
export class TurnCommands {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  async open(tx: Transaction, input: OpenTurn): Promise<OpenTurnResult> {
    const { leaseMs, ledger, rateWindow, sessions } = this.#parts
    const { idempotency, sessionId, turnId, userId } = input
    const [account, session, newest, used] = await Promise.all([
      tx.lockAccount({ userId }),
      sessions.lock(tx, { userId, sessionId }),
      rateWindow.newest(tx, userId),
      idempotency ? readKey(tx, { userId, operation, key: idempotency.key }) : undefined,
    ])
    const now = await tx.now()
    const rate = rateWindow.at(newest, now)
    const status = session && sessionStatus(session, await sessions.activeAfter(tx))
    const facts = {
      rate,
      account,
      isUsed: stillKept(used, now) !== undefined,
      session: session && status && { status, openTurnId: session.openTurnId },
    }
    const judged = judgeTurn(input, facts)
    if ('outcome' in judged) return judged
    const { taken } = judged
    const { agentId } = session!
    const row = { id: turnId, userId, sessionId, agentId, held: taken, now, leaseUntil: now + leaseMs }
    ledger.hold(tx, taken)
    if (idempotency) insertKey(tx, { userId, operation, ...idempotency, resourceId: turnId }, now)
    await Promise.all([sessions.open(tx, { sessionId, turnId }), statements(tx).insert.run(row)])
    tx.made({ table: 'turns', id: turnId })
    return { outcome: 'opened', held: taken, rate: withOneMore(rate, now) }
  }

  async grow(
    tx: Transaction,
    { by, least, turnId }: { turnId: string; by: Units; least: Units },
  ): Promise<Units | undefined> {
    const account = await tx.lockAccount({ turnId })
    const s = statements(tx)
    const turn = account && (await s.get.get({ turnId }))
    if (!turn || turn.settledAt !== null) return undefined
    const taken = Math.min(by, account.balance - account.held)
    if (taken < least) return undefined
    this.#parts.ledger.hold(tx, taken)
    await s.grow.run({ turnId, by: taken })
    return turn.held + taken
  }

  /** With `if abandoned` only when the turn's lease has passed. */
  async settle(tx: Transaction, input: SettleTurn, when?: 'if abandoned'): Promise<SettledTurn | undefined> {
    const { ledger, sessions } = this.#parts
    const { breakdown, cost, outcome, turnId } = input
    const account = await tx.lockAccount({ turnId })
    const s = statements(tx)
    // A node renews its lease without a lock on the account, so the row is locked before its lease is judged.
    const turn = account && (await (when ? s.getLocked : s.get).get({ turnId }))
    if (!turn || turn.settledAt !== null) return undefined
    const now = await tx.now()
    if (when && turn.leaseUntil! > now) return undefined
    const { agentId, createdAt: beganAt, held, sessionId, userId } = turn
    await sessions.lock(tx, { userId, sessionId })
    ledger.hold(tx, -held)
    const charged = Math.min(cost, account.balance - account.held)
    const writtenOff = Math.min(cost - charged, Number.MAX_SAFE_INTEGER)
    if (writtenOff > 0) countWrittenOff(tx, writtenOff)
    let { balance } = account
    if (outcome !== 'failed' || charged > 0) {
      const receipt = { ...breakdown, ...(writtenOff > 0 && { writtenOffUsd: formatUsd(writtenOff) }) }
      const description = `Chat with ${agentId}${turnEndings[outcome]}`
      const posting = { type: 'chat_charge', amount: -charged, sessionId, turnId, description, now } as const
      balance = ledger.post(tx, { ...posting, breakdown: receipt }).balance
    }
    await s.settle.run({ turnId, cost: charged, outcome, now })
    await sessions.close(tx, { sessionId, turn: input, beganAt, now })
    return { charged, balance, writtenOff }
  }
}

/** Ids of turns whose node has fallen silent. */
export async function abandonedTurns(connection: Connection, limit: number): Promise<string[]> {
  const rows = await statements(connection).abandoned.all({ limit, now: await connection.now() })
  return rows.map(({ id }) => id)
}

const statements = statementsOf('turn', (orm) => {
  const thisTurn = eq(turns.id, sql.placeholder('turnId'))
  return {
    get: orm.select().from(turns).where(thisTurn),
    getLocked: orm.select().from(turns).where(thisTurn).for('no key update'),
    insert: orm.insert(turns).values({
      id: sql.placeholder('id'),
      userId: sql.placeholder('userId'),
      sessionId: sql.placeholder('sessionId'),
      agentId: sql.placeholder('agentId'),
      held: sql.placeholder('held'),
      createdAt: sql.placeholder('now'),
      leaseUntil: sql.placeholder('leaseUntil'),
    }),
    grow: orm
      .update(turns)
      .set({ held: sql`${turns.held} + ${sql.placeholder('by')}` })
      .where(thisTurn),
    settle: orm
      .update(turns)
      .set({
        held: 0,
        cost: sql`${sql.placeholder('cost')}`,
        outcome: sql`${sql.placeholder('outcome')}`,
        settledAt: sql`${sql.placeholder('now')}`,
        leaseUntil: null,
      })
      .where(and(thisTurn, isNull(turns.settledAt))),
    abandoned: orm
      .select({ id: turns.id })
      .from(turns)
      .where(lte(turns.leaseUntil, sql.placeholder('now')))
      .limit(sql.placeholder('limit')),
  }
})
