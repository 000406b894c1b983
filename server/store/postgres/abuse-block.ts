import type { EpochMs } from '../../kernel/clock.ts'
import { nextBlockSeconds } from '../next-block.ts'
import type { StoreLimits } from '../store.ts'
import { and, eq, lte, sql } from './drizzle.ts'
import { abuseFailures, accounts } from './schema.ts'
import { statementsOf } from './statements.ts'
import type { Transaction } from './transaction.ts'

/** Blocks an account at the `abuseFailures`-th failed task within the window. A block consumes the failures that led to it. */
export class AbuseBlock {
  readonly #limits: StoreLimits

  constructor(limits: StoreLimits) {
    this.#limits = limits
  }

  async countFailure(tx: Transaction, now: EpochMs): Promise<void> {
    const { abuseFailures: failuresMax, abuseWindowSeconds } = this.#limits
    if (failuresMax === 0) return
    const { blockedAt, blockedUntil, blockSeconds, userId } = tx.account
    const { add, block, count, forgetAll, forgetOld } = statements(tx)
    await forgetOld.run({ userId, until: now - abuseWindowSeconds * 1000 })
    await add.run({ userId, now })
    const { failures } = (await count.get({ userId }))!
    if (failures < failuresMax) return
    await forgetAll.run({ userId })
    const seconds = nextBlockSeconds(this.#limits, { now, lastAt: blockedAt, lastSeconds: blockSeconds })
    const until = Math.max(blockedUntil ?? 0, now + seconds * 1000)
    await block.run({ userId, blockedAt: now, until, seconds })
  }

  /** Lifts a block and forgets the failures counted so far; false when there was no block. */
  async lift(tx: Transaction, userId: string): Promise<boolean> {
    const account = await tx.lockAccount({ userId })
    const { forgetAll, lift } = statements(tx)
    await forgetAll.run({ userId })
    if (!account || account.blockedUntil === null || account.blockedUntil <= (await tx.now())) return false
    await lift.run({ userId })
    return true
  }
}

const statements = statementsOf('abuse', (orm) => {
  const userId = sql.placeholder('userId')
  const ofUser = eq(abuseFailures.userId, userId)
  return {
    forgetOld: orm.delete(abuseFailures).where(and(ofUser, lte(abuseFailures.failedAt, sql.placeholder('until')))),
    forgetAll: orm.delete(abuseFailures).where(ofUser),
    add: orm.insert(abuseFailures).values({ userId, failedAt: sql.placeholder('now') }),
    count: orm
      .select({ failures: sql<number>`count(*)`.mapWith(Number) })
      .from(abuseFailures)
      .where(ofUser),
    block: orm
      .update(accounts)
      .set({
        blockedAt: sql`${sql.placeholder('blockedAt')}`,
        blockedUntil: sql`${sql.placeholder('until')}`,
        blockSeconds: sql`${sql.placeholder('seconds')}`,
      })
      .where(eq(accounts.userId, userId)),
    lift: orm.update(accounts).set({ blockedUntil: null }).where(eq(accounts.userId, userId)),
  }
})
