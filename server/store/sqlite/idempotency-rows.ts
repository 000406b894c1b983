import type { EpochMs } from '../../kernel/clock.ts'
import { and, eq, inArray, lte, sql } from './drizzle.ts'
import type { Connection } from './database.ts'
import { idempotencyKeys } from './schema.ts'

export const idempotencyKeptMs = 24 * 3_600_000

type KeyOf = { userId: string; operation: string; key: string }

/** Requests that named an Idempotency-Key; unique by user, operation and key, for 24 hours. */
export class IdempotencyRows {
  readonly #statements

  constructor(connection: Connection) {
    this.#statements = prepare(connection)
  }

  find(of: KeyOf, now: EpochMs): { bodyHash: string; resourceId: string } | undefined {
    const row = this.#statements.find.get(of)
    return row && row.createdAt > now - idempotencyKeptMs ? row : undefined
  }

  /** How many the user has, as far as `countMax`. */
  count(of: Omit<KeyOf, 'key'>, countMax: number): number {
    return this.#statements.count.get({ ...of, countMax })!.count
  }

  /** Takes the place of a row that has passed its time and was not purged yet. */
  insert(row: KeyOf & { bodyHash: string; resourceId: string }, now: EpochMs): void {
    this.#statements.deleteOld.run({ ...row, until: now - idempotencyKeptMs })
    this.#statements.insert.run({ ...row, now })
  }

  purge(now: EpochMs, rowsMax: number): number {
    return this.#statements.purge.run({ until: now - idempotencyKeptMs, rowsMax }).changes
  }
}

function prepare({ orm }: Connection) {
  const thisKey = and(
    eq(idempotencyKeys.userId, sql.placeholder('userId')),
    eq(idempotencyKeys.operation, sql.placeholder('operation')),
    eq(idempotencyKeys.key, sql.placeholder('key')),
  )
  const isOld = lte(idempotencyKeys.createdAt, sql.placeholder('until'))
  return {
    find: orm.select().from(idempotencyKeys).where(thisKey).prepare(),
    count: orm
      .select({ count: sql<number>`count(*)` })
      .from(
        orm
          .select({ one: sql`1`.as('one') })
          .from(idempotencyKeys)
          .where(
            and(
              eq(idempotencyKeys.userId, sql.placeholder('userId')),
              eq(idempotencyKeys.operation, sql.placeholder('operation')),
            ),
          )
          .limit(sql.placeholder('countMax'))
          .as('found'),
      )
      .prepare(),
    deleteOld: orm.delete(idempotencyKeys).where(and(thisKey, isOld)).prepare(),
    insert: orm
      .insert(idempotencyKeys)
      .values({
        userId: sql.placeholder('userId'),
        operation: sql.placeholder('operation'),
        key: sql.placeholder('key'),
        bodyHash: sql.placeholder('bodyHash'),
        resourceId: sql.placeholder('resourceId'),
        createdAt: sql.placeholder('now'),
      })
      .prepare(),
    purge: orm
      .delete(idempotencyKeys)
      .where(
        // A row of a table without row ids is named by its key; `createdAt` bounds how many are looked at.
        inArray(
          sql`(${idempotencyKeys.userId}, ${idempotencyKeys.operation}, ${idempotencyKeys.key})`,
          orm
            .select({ userId: idempotencyKeys.userId, operation: idempotencyKeys.operation, key: idempotencyKeys.key })
            .from(idempotencyKeys)
            .where(isOld)
            .limit(sql.placeholder('rowsMax')),
        ),
      )
      .prepare(),
  }
}
