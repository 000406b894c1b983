import type { Clock, EpochMs } from '../../kernel/clock.ts'
import { newId } from '../../kernel/ids.ts'
import type { KeyHolder, KeyRecord, Scope } from '../records.ts'
import { assertKeyRoom, endedKeptMs } from '../account-bounds.ts'
import type { CreateKey, Page } from '../store.ts'
import { and, desc, eq, isNull, lte, or, sql } from './drizzle.ts'
import type { Connection } from './database.ts'
import { HolderCache } from './holder-cache.ts'
import { apiKeys, users } from './schema.ts'

/** API keys. */
export class KeyRows {
  readonly #statements
  readonly #clock: Clock
  readonly #holders: HolderCache<KeyHolder>

  constructor(connection: Connection, clock: Clock) {
    this.#statements = prepare(connection)
    this.#clock = clock
    this.#holders = new HolderCache(connection, (tokenHash) => this.#read(tokenHash))
  }

  find(tokenHash: string): KeyHolder | undefined {
    return this.#holders.find(tokenHash)
  }

  #read(tokenHash: string): KeyHolder | undefined {
    const row = this.#statements.find.get({ tokenHash })
    return row && { ...row, scopes: row.scopes.split(',') as Scope[], isAdmin: row.isAdmin === 1 }
  }

  /** A user changed. */
  forget(): void {
    this.#holders.clear()
  }

  /** Throws CONFLICT when the user has as many live keys as are allowed. */
  create(input: CreateKey): KeyRecord {
    const now = this.#clock.now()
    const { userId } = input
    this.#statements.purgeEnded.run({ userId, until: now - endedKeptMs })
    const { all, live } = this.#statements.count.get({ userId, now })!
    assertKeyRoom({ all, live })
    const id = newId('key', now)
    this.#statements.insert.run({ ...input, id, scopes: input.scopes.join(','), now })
    return keyRecord(this.#statements.get.get({ userId: input.userId, keyId: id })!)
  }

  get(of: { userId: string; keyId: string }): KeyRecord | undefined {
    const row = this.#statements.get.get(of)
    return row && keyRecord(row)
  }

  list(of: Page & { userId: string; isLive?: boolean }): { keys: KeyRecord[]; total: number } {
    const { isLive, limit, offset, userId } = of
    const now = this.#clock.now()
    const counts = this.#statements.count.get({ userId, now })!
    if (isLive === undefined) {
      return { keys: this.#statements.list.all({ userId, limit, offset }).map(keyRecord), total: counts.all }
    }
    const rows = this.#statements.listOfState.all({ userId, limit, offset, now, isLive: isLive ? 1 : 0 })
    return { keys: rows.map(keyRecord), total: isLive ? counts.live : counts.all - counts.live }
  }

  revoke(of: { userId: string; keyId: string }): boolean {
    this.#holders.clear()
    return this.#statements.revoke.run({ ...of, now: this.#clock.now() }).changes === 1
  }

  rotate(input: { userId: string; keyId: string; key: CreateKey; oldExpiresAt: EpochMs }): KeyRecord | undefined {
    this.#holders.clear()
    const { userId, keyId, oldExpiresAt } = input
    const created = this.create(input.key)
    const { changes } = this.#statements.replace.run({ userId, keyId, oldExpiresAt, replacedBy: created.id })
    if (changes === 1) return created
    this.#statements.delete.run({ userId, keyId: created.id })
    return undefined
  }

  touch(uses: readonly { keyId: string; at: EpochMs }[]): void {
    for (const use of uses) this.#statements.touch.run(use)
  }
}

type KeyRow = typeof apiKeys.$inferSelect

function keyRecord(row: KeyRow): KeyRecord {
  const { tokenHash: _hash, replacedBy, scopes, ...key } = row
  return { ...key, scopes: scopes.split(',') as Scope[], isReplaced: replacedBy !== null }
}

function prepare({ orm }: Connection) {
  const userId = eq(apiKeys.userId, sql.placeholder('userId'))
  const isLive = sql<number>`(${isNull(apiKeys.revokedAt)} AND coalesce(${apiKeys.expiresAt} > ${sql.placeholder('now')}, true))`
  const thisKey = and(eq(apiKeys.id, sql.placeholder('keyId')), userId)
  return {
    find: orm
      .select({
        id: apiKeys.id,
        userId: apiKeys.userId,
        scopes: apiKeys.scopes,
        expiresAt: apiKeys.expiresAt,
        revokedAt: apiKeys.revokedAt,
        email: users.email,
        isAdmin: users.isAdmin,
        suspendedAt: users.suspendedAt,
      })
      .from(apiKeys)
      .innerJoin(users, eq(users.id, apiKeys.userId))
      .where(eq(apiKeys.tokenHash, sql.placeholder('tokenHash')))
      .prepare(),
    insert: orm
      .insert(apiKeys)
      .values({
        id: sql.placeholder('id'),
        userId: sql.placeholder('userId'),
        name: sql.placeholder('name'),
        tokenHash: sql.placeholder('tokenHash'),
        hint: sql.placeholder('hint'),
        scopes: sql.placeholder('scopes'),
        createdAt: sql.placeholder('now'),
        expiresAt: sql.placeholder('expiresAt'),
      })
      .prepare(),
    get: orm.select().from(apiKeys).where(thisKey).prepare(),
    list: orm
      .select()
      .from(apiKeys)
      .where(userId)
      .orderBy(desc(apiKeys.createdAt), sql`rowid DESC`)
      .limit(sql.placeholder('limit'))
      .offset(sql.placeholder('offset'))
      .prepare(),
    listOfState: orm
      .select()
      .from(apiKeys)
      .where(and(userId, sql`${isLive} = ${sql.placeholder('isLive')}`))
      .orderBy(desc(apiKeys.createdAt), sql`rowid DESC`)
      .limit(sql.placeholder('limit'))
      .offset(sql.placeholder('offset'))
      .prepare(),
    count: orm
      .select({
        all: sql<number>`count(*)`,
        live: sql<number>`count(*) FILTER (WHERE ${isLive})`,
      })
      .from(apiKeys)
      .where(userId)
      .prepare(),
    revoke: orm
      .update(apiKeys)
      .set({ revokedAt: sql`${sql.placeholder('now')}` })
      .where(and(thisKey, isNull(apiKeys.revokedAt)))
      .prepare(),
    // The overlap never lengthens the life of a key that was to end earlier.
    replace: orm
      .update(apiKeys)
      .set({
        replacedBy: sql`${sql.placeholder('replacedBy')}`,
        expiresAt: sql`min(coalesce(${apiKeys.expiresAt}, ${sql.placeholder('oldExpiresAt')}), ${sql.placeholder('oldExpiresAt')})`,
      })
      .where(and(thisKey, isNull(apiKeys.revokedAt), isNull(apiKeys.replacedBy)))
      .prepare(),
    delete: orm.delete(apiKeys).where(thisKey).prepare(),
    purgeEnded: orm
      .delete(apiKeys)
      .where(
        and(
          userId,
          or(lte(apiKeys.revokedAt, sql.placeholder('until')), lte(apiKeys.expiresAt, sql.placeholder('until'))),
        ),
      )
      .prepare(),
    touch: orm
      .update(apiKeys)
      .set({ lastUsedAt: sql`${sql.placeholder('at')}` })
      .where(eq(apiKeys.id, sql.placeholder('keyId')))
      .prepare(),
  }
}
