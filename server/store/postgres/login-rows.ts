import type { EpochMs } from '../../kernel/clock.ts'
import { newId } from '../../kernel/ids.ts'
import type { LoginHolder, LoginRecord } from '../records.ts'
import { loginIdleMs, loginLifeMs, loginsMax, type CreateLogin } from '../people.ts'
import type { Page } from '../store.ts'
import type { Connection } from './pooled-connection.ts'
import { and, desc, eq, gt, inArray, lte, sql } from './drizzle.ts'
import { logins } from './login-tables.ts'
import { users } from './schema.ts'
import { statementsOf } from './statements.ts'
import type { Transaction } from './transaction.ts'

// Browser logins that have not ended. Nothing of them is kept in memory: a logout on one node acts on all.

export async function findLogin(connection: Connection, tokenHash: string): Promise<LoginHolder | undefined> {
  const row = await statements(connection).find.get({ tokenHash })
  return row && { ...row, isAdmin: row.isAdmin === 1 }
}

/** For a user whose account is locked. */
export async function insertLogin(tx: Transaction, input: CreateLogin): Promise<LoginRecord> {
  const { method, provider, tokenHash, userAgent, userId } = input
  const now = await tx.now()
  const id = newId('login', now)
  const times = { createdAt: now, lastUsedAt: now, expiresAt: now + loginLifeMs }
  const login = { id, userId, method, provider, userAgent, ...times }
  const { endOldest, insert } = statements(tx)
  await insert.run({ ...login, tokenHash })
  await endOldest.run({ userId, keep: loginsMax })
  tx.made({ table: 'logins', id })
  return login
}

export async function listLogins(
  connection: Connection,
  { limit, offset, userId }: Page & { userId: string },
): Promise<{ logins: LoginRecord[]; total: number }> {
  const now = await connection.now()
  const live = { userId, now, idleSince: now - loginIdleMs }
  const { count, list } = statements(connection)
  const [rows, counted] = await Promise.all([list.all({ ...live, limit, offset }), count.get(live)])
  return { logins: rows, total: counted!.total }
}

export async function endLogin(tx: Transaction, of: { userId: string; loginId: string }): Promise<boolean> {
  await tx.lockAccount({ userId: of.userId })
  return (await statements(tx).end.run(of)) === 1
}

/** All of a user's but one. The account is locked by the caller. */
export async function endLogins(tx: Transaction, userId: string, keepLoginId: string | null): Promise<number> {
  return await statements(tx).endAll.run({ userId, keepLoginId })
}

const touch = {
  name: 'login_touch',
  text: `UPDATE logins SET last_used_at = greatest(last_used_at, used.at)
    FROM unnest($1::text[], $2::bigint[]) AS used (id, at) WHERE logins.id = used.id`,
}

export async function touchLogins(
  { client }: Transaction,
  uses: readonly { loginId: string; at: EpochMs }[],
): Promise<void> {
  const last = new Map<string, EpochMs>()
  for (const { at, loginId } of uses) last.set(loginId, Math.max(at, last.get(loginId) ?? 0))
  await client.query({ ...touch, values: [[...last.keys()], [...last.values()]] })
}

/** Those that were not used for long enough stay until they expire; nobody finds them. */
export async function purgeLogins(tx: Transaction, rowsMax: number): Promise<number> {
  return await statements(tx).purge.run({ now: await tx.now(), rowsMax })
}

const statements = statementsOf('login', (orm) => {
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
      .where(eq(logins.tokenHash, sql.placeholder('tokenHash'))),
    insert: orm.insert(logins).values({
      id: sql.placeholder('id'),
      userId: sql.placeholder('userId'),
      tokenHash: sql.placeholder('tokenHash'),
      method: sql.placeholder('method'),
      provider: sql.placeholder('provider'),
      userAgent: sql.placeholder('userAgent'),
      createdAt: sql.placeholder('createdAt'),
      lastUsedAt: sql.placeholder('lastUsedAt'),
      expiresAt: sql.placeholder('expiresAt'),
    }),
    list: orm
      .select(columns)
      .from(logins)
      .where(live)
      .orderBy(desc(logins.createdAt), desc(logins.seq))
      .limit(sql.placeholder('limit'))
      .offset(sql.placeholder('offset')),
    count: orm
      .select({ total: sql<number>`count(*)`.mapWith(Number) })
      .from(logins)
      .where(live),
    end: orm.delete(logins).where(and(eq(logins.id, sql.placeholder('loginId')), userId)),
    endAll: orm.delete(logins).where(and(userId, sql`${logins.id} IS DISTINCT FROM ${sql.placeholder('keepLoginId')}`)),
    endOldest: orm
      .delete(logins)
      .where(
        inArray(
          logins.id,
          orm
            .select({ id: logins.id })
            .from(logins)
            .where(userId)
            .orderBy(desc(logins.lastUsedAt), desc(logins.seq))
            .limit(1_000_000)
            .offset(sql.placeholder('keep')),
        ),
      ),
    purge: orm.delete(logins).where(
      inArray(
        logins.id,
        orm
          .select({ id: logins.id })
          .from(logins)
          .where(lte(logins.expiresAt, sql.placeholder('now')))
          .limit(sql.placeholder('rowsMax')),
      ),
    ),
  }
})
