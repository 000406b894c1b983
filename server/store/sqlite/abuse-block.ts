import { must } from '../../kernel/assert.ts'
import type { EpochMs } from '../../kernel/clock.ts'
import { nextBlockSeconds } from '../next-block.ts'
import type { StoreLimits } from '../store.ts'
import { and, eq, lte, sql } from './drizzle.ts'
import type { Connection } from './database.ts'
import { abuseFailures, accounts } from './schema.ts'

/**
 * Blocks an account at the `abuseFailures`-th failed task within the window. A block consumes the failures that led to
 * it; one that follows within 24 hours of the last lasts twice as long, up to the maximum.
 */
export class AbuseBlock {
  readonly #statements
  readonly #limits: StoreLimits

  constructor(connection: Connection, limits: StoreLimits) {
    this.#statements = prepare(connection)
    this.#limits = limits
  }

  countFailure(userId: string, now: EpochMs): void {
    const { abuseFailures: failuresMax, abuseWindowSeconds } = this.#limits
    if (failuresMax === 0) return
    this.#statements.forgetOld.run({ userId, until: now - abuseWindowSeconds * 1000 })
    this.#statements.add.run({ userId, now })
    const { failures } = this.#statements.count.get({ userId })!
    if (failures < failuresMax) return
    this.#statements.forgetAll.run({ userId })
    const { blockedAt, blockedUntil, blockSeconds } = must(this.#statements.account.get({ userId }), 'the user exists')
    const seconds = nextBlockSeconds(this.#limits, { now, lastAt: blockedAt, lastSeconds: blockSeconds })
    const until = Math.max(blockedUntil ?? 0, now + seconds * 1000)
    this.#statements.block.run({ userId, blockedAt: now, until, seconds })
  }

  /** Lifts a block and forgets the failures counted so far; false when there was no block. */
  lift(userId: string, now: EpochMs): boolean {
    const account = this.#statements.account.get({ userId })
    this.#statements.forgetAll.run({ userId })
    if (!account || account.blockedUntil === null || account.blockedUntil <= now) return false
    this.#statements.lift.run({ userId })
    return true
  }
}

function prepare({ orm }: Connection) {
  const userId = sql.placeholder('userId')
  const ofUser = eq(abuseFailures.userId, userId)
  return {
    forgetOld: orm
      .delete(abuseFailures)
      .where(and(ofUser, lte(abuseFailures.failedAt, sql.placeholder('until'))))
      .prepare(),
    forgetAll: orm.delete(abuseFailures).where(ofUser).prepare(),
    add: orm
      .insert(abuseFailures)
      .values({ userId, failedAt: sql.placeholder('now') })
      .prepare(),
    count: orm
      .select({ failures: sql<number>`count(*)` })
      .from(abuseFailures)
      .where(ofUser)
      .prepare(),
    account: orm.select().from(accounts).where(eq(accounts.userId, userId)).prepare(),
    block: orm
      .update(accounts)
      .set({
        blockedAt: sql`${sql.placeholder('blockedAt')}`,
        blockedUntil: sql`${sql.placeholder('until')}`,
        blockSeconds: sql`${sql.placeholder('seconds')}`,
      })
      .where(eq(accounts.userId, userId))
      .prepare(),
    lift: orm.update(accounts).set({ blockedUntil: null }).where(eq(accounts.userId, userId)).prepare(),
  }
}
