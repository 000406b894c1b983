import type { EpochMs } from '../../kernel/clock.ts'
import { newId } from '../../kernel/ids.ts'
import { assertKeyRoom, endedKeptMs } from '../account-bounds.ts'
import type { KeyHolder, KeyRecord, Page, Scope } from '../records.ts'
import type { CreateKey } from '../store.ts'
import type { Answer, Op, Reads, Tx } from './command.ts'
import { columns, insertInto, statement } from './statement.ts'

// API keys.

type KeyOf = { userId: string; keyId: string }
type Row = Omit<KeyRecord, 'scopes' | 'isReplaced'> & { scopes: string; replacedBy: string | null }

const row = columns('id userId name hint scopes createdAt expiresAt lastUsedAt revokedAt replacedBy')
const live = '(revoked_at IS NULL AND coalesce(expires_at > :now, true))'
const thisKey = 'id = :keyId AND user_id = :userId'
const inOrder = (seq: string) => `ORDER BY created_at DESC, ${seq} DESC LIMIT :limit OFFSET :offset`
const listOf = (name: string, where: string) =>
  statement<Row>(name, ({ seq }) => `SELECT ${row} FROM api_keys WHERE user_id = :userId ${where} ${inOrder(seq)}`)

const find = statement<Omit<KeyHolder, 'scopes' | 'isAdmin'> & { scopes: string; isAdmin: 0 | 1 }>(
  'key_find',
  `SELECT api_keys.id, ${columns('userId scopes expiresAt revokedAt email isAdmin suspendedAt')}
    FROM api_keys JOIN users ON users.id = user_id WHERE token_hash = :tokenHash`,
)
const insert = statement(
  'key_insert',
  insertInto('api_keys', 'id userId name tokenHash hint scopes createdAt expiresAt'),
)
const get = statement<Row>('key_get', `SELECT ${row} FROM api_keys WHERE ${thisKey}`)
const list = listOf('key_list', '')
const listLive = listOf('key_list_live', `AND ${live}`)
const listEnded = listOf('key_list_ended', `AND NOT ${live}`)
const count = statement<{ all: number; live: number }>(
  'key_count',
  `SELECT count(*) AS "all", count(*) FILTER (WHERE ${live}) AS live FROM api_keys WHERE user_id = :userId`,
)
const revoke = statement('key_revoke', `UPDATE api_keys SET revoked_at = :now WHERE ${thisKey} AND revoked_at IS NULL`)
// The overlap never lengthens the life of a key that was to end earlier.
const replace = statement(
  'key_replace',
  ({ least }) => `UPDATE api_keys SET replaced_by = :replacedBy,
      expires_at = ${least}(coalesce(expires_at, :oldExpiresAt), :oldExpiresAt)
    WHERE ${thisKey} AND revoked_at IS NULL AND replaced_by IS NULL`,
)
const remove = statement('key_delete', `DELETE FROM api_keys WHERE ${thisKey}`)
const purgeEnded = statement(
  'key_purge_ended',
  'DELETE FROM api_keys WHERE user_id = :userId AND (revoked_at <= :until OR expires_at <= :until)',
)
const touch = statement(
  'key_touch',
  ({ greatest, members }) => `UPDATE api_keys SET last_used_at = ${greatest}(coalesce(last_used_at, used.at), used.at)
    FROM ${members(':uses')} WHERE api_keys.id = used.id`,
)

export function findKey(on: Reads, tokenHash: string): Answer<KeyHolder | undefined> {
  return on
    .get(find, { tokenHash })
    .map((row) => row && { ...row, scopes: row.scopes.split(',') as Scope[], isAdmin: row.isAdmin === 1 })
}

/** Throws CONFLICT when the user has as many live keys as are allowed. */
export function* createKey(tx: Tx, input: CreateKey): Op<KeyRecord> {
  const { scopes, userId, ...rest } = input
  yield* tx.lockAccount({ userId })
  const now = yield* tx.now()
  yield* tx.run(purgeEnded, { userId, until: now - endedKeptMs })
  assertKeyRoom((yield* tx.get(count, { userId, now }))!)
  const id = newId('key', now)
  yield* tx.run(insert, { ...rest, id, userId, scopes: scopes.join(','), createdAt: now })
  tx.made({ table: 'api_keys', id })
  return (yield* getKey(tx, { userId, keyId: id }))!
}

export function* getKey(on: Reads, of: KeyOf): Op<KeyRecord | undefined> {
  const found = yield* on.get(get, of)
  return found && toRecord(found)
}

export function* listKeys(
  on: Reads,
  { isLive, limit, offset, userId }: Page & { userId: string; isLive?: boolean },
): Op<{ keys: KeyRecord[]; total: number }> {
  const now = yield* on.now()
  const of = { userId, now, limit, offset }
  const asked = isLive === undefined ? on.all(list, of) : on.all(isLive ? listLive : listEnded, of)
  const counts = (yield* on.get(count, { userId, now }))!
  const total = isLive === undefined ? counts.all : isLive ? counts.live : counts.all - counts.live
  return { keys: (yield* asked).map(toRecord), total }
}

export function* revokeKey(tx: Tx, of: KeyOf): Op<boolean> {
  yield* tx.lockAccount({ userId: of.userId })
  tx.holdersChanged('keys')
  return (yield* tx.run(revoke, { ...of, now: yield* tx.now() })) === 1
}

export function* rotateKey(
  tx: Tx,
  { key, keyId, oldExpiresAt, userId }: KeyOf & { key: CreateKey; oldExpiresAt: EpochMs },
): Op<KeyRecord | undefined> {
  tx.holdersChanged('keys')
  const created = yield* createKey(tx, key)
  const replaced = yield* tx.run(replace, { userId, keyId, oldExpiresAt, replacedBy: created.id })
  if (replaced === 1) return created
  yield* tx.run(remove, { userId, keyId: created.id })
  return undefined
}

export function* touchKeys(tx: Tx, uses: readonly { keyId: string; at: EpochMs }[]): Op<void> {
  yield* tx.run(touch, { uses: JSON.stringify(Object.fromEntries(uses.map(({ at, keyId }) => [keyId, at]))) })
}

function toRecord({ replacedBy, scopes, ...key }: Row): KeyRecord {
  return { ...key, scopes: scopes.split(',') as Scope[], isReplaced: replacedBy !== null }
}
