import type { EpochMs } from '../../kernel/clock.ts'
import { newId } from '../../kernel/ids.ts'
import type { KeyHolder, KeyRecord, Scope } from '../records.ts'
import { assertKeyRoom, endedKeptMs } from '../account-bounds.ts'
import type { CreateKey, Page } from '../store.ts'
import type { Connection } from './pooled-connection.ts'
import { and, desc, eq, isNull, lte, or, sql } from './drizzle.ts'
import { apiKeys } from './schema.ts'
import { statementsOf } from './statements.ts'
import type { Transaction } from './transaction.ts'

// API keys. Nothing of them is kept in memory: a revocation on one node acts on the next request on every other.

type KeyOf = { userId: string; keyId: string }

// Of every request, so it is written without the detour that the others take.
const find = {
  name: 'key_find',
  text: `SELECT api_keys.id, user_id AS "userId", scopes, expires_at::float8 AS "expiresAt",
      revoked_at::float8 AS "revokedAt", email, is_admin = 1 AS "isAdmin", suspended_at::float8 AS "suspendedAt"
    FROM api_keys JOIN users ON users.id = user_id WHERE token_hash = $1`,
}

export async function findKey(connection: Connection, tokenHash: string): Promise<KeyHolder | undefined> {
  const { rows } = await connection.client.query({ ...find, values: [tokenHash] })
  const row = rows[0] as (Omit<KeyHolder, 'scopes'> & { scopes: string }) | undefined
  return row && { ...row, scopes: row.scopes.split(',') as Scope[] }
}

/** Throws CONFLICT when the user has as many live keys as are allowed. */
export async function createKey(tx: Transaction, input: CreateKey): Promise<KeyRecord> {
  const { userId } = input
  await tx.lockAccount({ userId })
  const now = await tx.now()
  const s = statements(tx)
  await s.purgeEnded.run({ userId, until: now - endedKeptMs })
  const { all, live } = (await s.count.get({ userId, now }))!
  assertKeyRoom({ all, live })
  const id = newId('key', now)
  await s.insert.run({ ...input, id, scopes: input.scopes.join(','), now })
  tx.made({ table: 'api_keys', id })
  return keyRecord((await s.get.get({ userId, keyId: id }))!)
}

export async function getKey(connection: Connection, of: KeyOf): Promise<KeyRecord | undefined> {
  const row = await statements(connection).get.get(of)
  return row && keyRecord(row)
}

export async function listKeys(
  connection: Connection,
  { isLive, limit, offset, userId }: Page & { userId: string; isLive?: boolean },
): Promise<{ keys: KeyRecord[]; total: number }> {
  const s = statements(connection)
  const now = await connection.now()
  const counts = (await s.count.get({ userId, now }))!
  if (isLive === undefined) {
    return { keys: (await s.list.all({ userId, limit, offset })).map(keyRecord), total: counts.all }
  }
  const rows = await s.listOfState.all({ userId, limit, offset, now, isLive })
  return { keys: rows.map(keyRecord), total: isLive ? counts.live : counts.all - counts.live }
}

export async function revokeKey(tx: Transaction, of: KeyOf): Promise<boolean> {
  await tx.lockAccount({ userId: of.userId })
  return (await statements(tx).revoke.run({ ...of, now: await tx.now() })) === 1
}

export async function rotateKey(
  tx: Transaction,
  { key, keyId, oldExpiresAt, userId }: KeyOf & { key: CreateKey; oldExpiresAt: EpochMs },
): Promise<KeyRecord | undefined> {
  const created = await createKey(tx, key)
  const s = statements(tx)
  const replaced = await s.replace.run({ userId, keyId, oldExpiresAt, replacedBy: created.id })
  if (replaced === 1) return created
  await s.delete.run({ userId, keyId: created.id })
  return undefined
}

const touch = {
  name: 'key_touch',
  text: `UPDATE api_keys SET last_used_at = greatest(last_used_at, used.at) FROM unnest($1::text[], $2::bigint[]) AS used (id, at)
    WHERE api_keys.id = used.id`,
}

export async function touchKeys(
  { client }: Transaction,
  uses: readonly { keyId: string; at: EpochMs }[],
): Promise<void> {
  const last = new Map(uses.map(({ at, keyId }) => [keyId, at]))
  await client.query({ ...touch, values: [[...last.keys()], [...last.values()]] })
}

type KeyRow = typeof apiKeys.$inferSelect

function keyRecord(row: KeyRow): KeyRecord {
  const { replacedBy, scopes, seq: _seq, tokenHash: _hash, ...key } = row
  return { ...key, scopes: scopes.split(',') as Scope[], isReplaced: replacedBy !== null }
}

const statements = statementsOf('key', (orm) => {
  const userId = eq(apiKeys.userId, sql.placeholder('userId'))
  const isLive = sql<number>`(${isNull(apiKeys.revokedAt)} AND coalesce(${apiKeys.expiresAt} > ${sql.placeholder('now')}, true))`
  const thisKey = and(eq(apiKeys.id, sql.placeholder('keyId')), userId)
  return {
    insert: orm.insert(apiKeys).values({
      id: sql.placeholder('id'),
      userId: sql.placeholder('userId'),
      name: sql.placeholder('name'),
      tokenHash: sql.placeholder('tokenHash'),
      hint: sql.placeholder('hint'),
      scopes: sql.placeholder('scopes'),
      createdAt: sql.placeholder('now'),
      expiresAt: sql.placeholder('expiresAt'),
    }),
    get: orm.select().from(apiKeys).where(thisKey),
    list: orm
      .select()
      .from(apiKeys)
      .where(userId)
      .orderBy(desc(apiKeys.createdAt), desc(apiKeys.seq))
      .limit(sql.placeholder('limit'))
      .offset(sql.placeholder('offset')),
    listOfState: orm
      .select()
      .from(apiKeys)
      .where(and(userId, sql`${isLive} = ${sql.placeholder('isLive')}::boolean`))
      .orderBy(desc(apiKeys.createdAt), desc(apiKeys.seq))
      .limit(sql.placeholder('limit'))
      .offset(sql.placeholder('offset')),
    count: orm
      .select({
        all: sql<number>`count(*)`.mapWith(Number),
        live: sql<number>`count(*) FILTER (WHERE ${isLive})`.mapWith(Number),
      })
      .from(apiKeys)
      .where(userId),
    revoke: orm
      .update(apiKeys)
      .set({ revokedAt: sql`${sql.placeholder('now')}` })
      .where(and(thisKey, isNull(apiKeys.revokedAt))),
    // The overlap never lengthens the life of a key that was to end earlier.
    replace: orm
      .update(apiKeys)
      .set({
        replacedBy: sql`${sql.placeholder('replacedBy')}`,
        expiresAt: sql`least(coalesce(${apiKeys.expiresAt}, ${sql.placeholder('oldExpiresAt')}), ${sql.placeholder('oldExpiresAt')})`,
      })
      .where(and(thisKey, isNull(apiKeys.revokedAt), isNull(apiKeys.replacedBy))),
    delete: orm.delete(apiKeys).where(thisKey),
    purgeEnded: orm
      .delete(apiKeys)
      .where(
        and(
          userId,
          or(lte(apiKeys.revokedAt, sql.placeholder('until')), lte(apiKeys.expiresAt, sql.placeholder('until'))),
        ),
      ),
  }
})
