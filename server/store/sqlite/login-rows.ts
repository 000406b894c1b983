import type { Clock, EpochMs } from '../../kernel/clock.ts'
import { newId } from '../../kernel/ids.ts'
import type { LoginHolder, LoginRecord } from '../records.ts'
import { loginIdleMs, loginLifeMs, loginsMax, type CreateLogin } from '../people.ts'
import type { Page } from '../store.ts'
import { and, desc, eq, gt, inArray, lte, sql } from './drizzle.ts'
import type { Connection } from './database.ts'
import { HolderCache } from './holder-cache.ts'
import { logins } from './login-tables.ts'
import { users } from './schema.ts'

/** Browser logins that have not ended. */
export class LoginRows {
  readonly #statements
  readonly #clock: Clock
  readonly #holders: HolderCache<LoginHolder>

  constructor(connection: Connection, clock: Clock) {
    this.#statements = prepare(connection)
    this.#clock = clock
    this.#holders = new HolderCache(connection, (tokenHash) => this.#read(tokenHash))
  }

  find(tokenHash: string): LoginHolder | undefined {
    return this.#holders.find(tokenHash)
  }

  #read(tokenHash: string): LoginHolder | undefined {
    const row = this.#statements.find.get({ tokenHash })
    return row && { ...row, isAdmin: row.isAdmin === 1 }
  }

  /** A user changed. */
  forget(): void {
    this.#holders.clear()
  }

  create({ method, provider, tokenHash, userAgent, userId }: CreateLogin): LoginRecord {
    const now = this.#clock.now()
    const login = {
      id: newId('login', now),
      userId,
      method,
      provider,
      userAgent,
      createdAt: now,
      lastUsedAt: now,
      expiresAt: now + loginLifeMs,
    }
    this.#statements.insert.run({ ...login, tokenHash })
    if (this.#statements.endOldest.run({ userId, keep: loginsMax }).changes > 0) this.#holders.clear()
    return login
  }

  list({ limit, offset, userId }: Page & { userId: string }): { logins: LoginRecord[]; total: number } {
    const live = { userId, ...this.#bounds() }
    return {
      logins: this.#statements.list.all({ ...live, limit, offset }),
      total: this.#statements.count.get(live)!.total,
    }
  }

  end(of: { userId: string; loginId: string }): boolean {
    this.#holders.clear()
    return this.#statements.end.run(of).changes === 1
  }

  /** All of a user's but one. */
  endAll(userId: string, keepLoginId: string | null): number {
    this.#holders.clear()
    return this.#statements.endAll.run({ userId, keepLoginId }).changes
  }

  touch(uses: readonly { loginId: string; at: EpochMs }[]): void {
    this.#holders.clear()
    for (const use of uses) this.#statements.touch.run(use)
  }

  /** Those that were not used for long enough stay until they expire; nobody finds them. */
  purge(rowsMax: number): number {
    return this.#statements.purge.run({ now: this.#clock.now(), rowsMax }).changes
  }

  #bounds(): { now: EpochMs; idleSince: EpochMs } {
    const now = this.#clock.now()
    return { now, idleSince: now - loginIdleMs }
  }
}

function prepare({ orm }: Connection) {
  const userId = eq(logins.userId, sql.placeholder('userId'))
  const columns = {
    id: logins.id,
    userId: logins.userId,
    method: logins.method,
    provider: logins.provider,
    userAgent: logins.userAgent,
    createdAt: logins.createdAt,
    lastUsedAt: logins.lastUsedAt,
    expiresAt: logins.expiresAt,
  }
  const live = and(
    userId,
    gt(logins.expiresAt, sql.placeholder('now')),
    gt(logins.lastUsedAt, sql.placeholder('idleSince')),
  )
  return {
    find: orm
      .select({
        id: logins.id,
        userId: logins.userId,
        lastUsedAt: logins.lastUsedAt,
        expiresAt: logins.expiresAt,
        email: users.email,
        isAdmin: users.isAdmin,
        suspendedAt: users.suspendedAt,
      })
      .from(logins)
      .innerJoin(users, eq(users.id, logins.userId))
      .where(eq(logins.tokenHash, sql.placeholder('tokenHash')))
      .prepare(),
    insert: orm
      .insert(logins)
      .values({
        id: sql.placeholder('id'),
        userId: sql.placeholder('userId'),
        tokenHash: sql.placeholder('tokenHash'),
        method: sql.placeholder('method'),
        provider: sql.placeholder('provider'),
        userAgent: sql.placeholder('userAgent'),
        createdAt: sql.placeholder('createdAt'),
        lastUsedAt: sql.placeholder('lastUsedAt'),
        expiresAt: sql.placeholder('expiresAt'),
      })
      .prepare(),
    list: orm
      .select(columns)
      .from(logins)
      .where(live)
      .orderBy(desc(logins.createdAt), sql`rowid DESC`)
      .limit(sql.placeholder('limit'))
      .offset(sql.placeholder('offset'))
      .prepare(),
    count: orm
      .select({ total: sql<number>`count(*)` })
      .from(logins)
      .where(live)
      .prepare(),
    end: orm
      .delete(logins)
      .where(and(eq(logins.id, sql.placeholder('loginId')), userId))
      .prepare(),
    endAll: orm
      .delete(logins)
      .where(and(userId, sql`${logins.id} IS NOT ${sql.placeholder('keepLoginId')}`))
      .prepare(),
    endOldest: orm
      .delete(logins)
      .where(
        inArray(
          logins.id,
          orm
            .select({ id: logins.id })
            .from(logins)
            .where(userId)
            .orderBy(desc(logins.lastUsedAt), sql`rowid DESC`)
            .limit(1_000_000)
            .offset(sql.placeholder('keep')),
        ),
      )
      .prepare(),
    touch: orm
      .update(logins)
      .set({ lastUsedAt: sql`max(${logins.lastUsedAt}, ${sql.placeholder('at')})` })
      .where(eq(logins.id, sql.placeholder('loginId')))
      .prepare(),
    purge: orm
      .delete(logins)
      .where(
        inArray(
          logins.id,
          orm
            .select({ id: logins.id })
            .from(logins)
            .where(lte(logins.expiresAt, sql.placeholder('now')))
            .limit(sql.placeholder('rowsMax')),
        ),
      )
      .prepare(),
  }
}
