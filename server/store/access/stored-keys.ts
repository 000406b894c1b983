import type { Page } from '../list-place.ts'
import type { KeyRecord, KeyHolder, Scope } from './key-types.ts'
import type { EpochMs } from '../../kernel/clock.ts'
import { newId } from '../../kernel/ids.ts'
import { recorded } from '../audit/audit-commands.ts'
import { assertKeyRoom, endedKeptMs } from '../limits/account-bounds.ts'
import type { CredentialLimits } from '../limits/execution-limits.ts'
import { periodStart } from '../limits/spend-period.ts'
import type { UpdateKey } from '../limits/limit-types.ts'
import type { CreateKey } from '../store.ts'
import type { Answer, Engine, Op, Reads, Tx } from '../commands/command.ts'
import { holderColumns, joinHolder, withHolder, type HolderRow } from './credential-holder.ts'
import { carryOver, limitWindows, rearmReached } from '../limits/spend-windows.ts'
import { restOfSpent, sumSpent, type SpendPeriod, type SpentSoFar } from '../limits/spent-elsewhere.ts'
import { assign, columns, insertInto, statement } from '../commands/statement.ts'

type KeyOf = { userId: string; keyId: string }
type Row = Omit<KeyRecord, 'scopes' | 'countsAs' | 'agents'> & {
  scopes: string
  countsAs: string | null
  agents: string | null
}

const limited = 'spendLimit spendReset rateLimit agents countsAs'
const row = columns(`id userId name hint scopes createdAt expiresAt lastUsedAt revokedAt replacedBy ${limited}`)
const live = '(revoked_at IS NULL AND coalesce(expires_at > :now, true))'
const thisKey = 'id = :keyId AND user_id = :userId'
const inOrder = (seq: string) => `ORDER BY created_at DESC, ${seq} DESC LIMIT :limit OFFSET :offset`
const inList = (name: string, where: string) =>
  statement<Row>(name, ({ seq }) => `SELECT ${row} FROM api_keys WHERE user_id = :userId ${where} ${inOrder(seq)}`)

export type StoredLimits = Pick<Row, 'spendLimit' | 'spendReset' | 'rateLimit' | 'countsAs'>
type FoundRow = HolderRow & Pick<Row, 'id' | 'userId' | 'scopes' | 'expiresAt' | 'revokedAt' | 'agents'> & StoredLimits
const find = statement<FoundRow>(
  'key_find',
  `SELECT api_keys.id, api_keys.user_id AS "userId", ${columns(`scopes expiresAt revokedAt ${limited}`)}, ${holderColumns}
    FROM api_keys ${joinHolder('api_keys.user_id')} WHERE token_hash = :tokenHash`,
)
const insert = statement(
  'key_insert',
  insertInto('api_keys', `id userId name tokenHash hint scopes createdAt expiresAt ${limited}`),
)
const get = statement<Row>('key_get', `SELECT ${row} FROM api_keys WHERE ${thisKey}`)
const list = inList('key_list', '')
const listLive = inList('key_list_live', `AND ${live}`)
const listEnded = inList('key_list_ended', `AND NOT ${live}`)
const count = statement<{ all: number; live: number }>(
  'key_count',
  `SELECT count(*) AS "all", count(*) FILTER (WHERE ${live}) AS live FROM api_keys WHERE user_id = :userId`,
)
const revoke = statement('key_revoke', `UPDATE api_keys SET revoked_at = :now WHERE ${thisKey} AND revoked_at IS NULL`)
// The new key inherits `limited_at`, so that its limits count from the same time as the old key's.
const inherit = statement(
  'key_inherit',
  `UPDATE api_keys SET limited_at = (SELECT limited_at FROM api_keys WHERE ${thisKey}) WHERE id = :replacedBy`,
)
// A key that expires before the overlap ends must keep its earlier expiry.
const replace = statement(
  'key_replace',
  ({ least }) => `UPDATE api_keys SET replaced_by = :replacedBy,
      expires_at = ${least}(coalesce(expires_at, :oldExpiresAt), :oldExpiresAt)
    WHERE ${thisKey} AND revoked_at IS NULL AND replaced_by IS NULL`,
)
const ofChain = 'user_id = :userId AND (id = :countsAs OR counts_as = :countsAs)'
const update = statement(
  'key_update',
  `UPDATE api_keys SET ${assign('spendLimit spendReset rateLimit agents')}, limited_at = :now WHERE ${ofChain}`,
)
const remove = statement('key_delete', `DELETE FROM api_keys WHERE ${thisKey}`)
const purgeEnded = statement(
  'key_purge_ended',
  'DELETE FROM api_keys WHERE user_id = :userId AND (revoked_at <= :until OR expires_at <= :until)',
)
// `key_rates` rows and spend windows that never end are deleted together with the last key that uses them.
const countsFor = 'coalesce(counts_as, id)'
const isKept = '(coalesce(revoked_at > :until, true) AND coalesce(expires_at > :until, true))'
const gone = `(SELECT ${countsFor} FROM api_keys WHERE user_id = :userId AND NOT ${isKept})`
const stays = `(SELECT ${countsFor} FROM api_keys WHERE user_id = :userId AND ${isKept})`
const purgeWindows = statement(
  'key_purge_windows',
  `DELETE FROM spend_windows WHERE owner_id IN ${gone} AND owner_id NOT IN ${stays} AND held = 0`,
)
const purgeRates = statement(
  'key_purge_rates',
  `DELETE FROM key_rates WHERE key_id IN ${gone} AND key_id NOT IN ${stays}`,
)
const touch = statement(
  'key_touch',
  ({ greatest, members }) => `UPDATE api_keys SET last_used_at = ${greatest}(coalesce(last_used_at, used.at), used.at)
    FROM ${members(':uses')} WHERE api_keys.id = used.id`,
)

export function findKey(on: Reads, tokenHash: string): Answer<KeyHolder | undefined> {
  return on.get(find, { tokenHash }).map((row) => row && toHolder(row))
}

function toHolder({ agents, countsAs, rateLimit, spendLimit, spendReset, ...row }: FoundRow): KeyHolder {
  const limits = keyLimits({ keyId: row.id, countsAs, rateLimit, spendLimit, spendReset })
  return { ...withHolder(row), scopes: row.scopes.split(',') as Scope[], agents: listOf(agents), limits }
}

export function keyLimits({
  countsAs,
  keyId,
  rateLimit,
  spendLimit,
  spendReset,
}: { keyId: string } & StoredLimits): CredentialLimits | null {
  if (spendLimit === null && rateLimit === null) return null
  const ownerId = countsAs ?? keyId
  const spend = spendLimit === null ? null : { ownerId, amount: spendLimit, reset: spendReset ?? 'never' }
  const rate = rateLimit === null ? null : { keyId: ownerId, perMinute: rateLimit }
  return { spend, rate, onceTokenId: null }
}

function listOf(agents: string | null): string[] | null {
  return agents === null ? null : (JSON.parse(agents) as string[])
}

export function* createKey(tx: Tx, input: CreateKey, countsAs: string | null = null): Op<KeyRecord> {
  const { agents = null, rateLimit = null, scopes, spendLimit = null, spendReset = null, userId, ...rest } = input
  yield* tx.lockAccount({ userId })
  const now = yield* tx.now()
  const until = now - endedKeptMs
  tx.used.writeOut()
  tx.send(purgeWindows, { userId, until })
  tx.send(purgeRates, { userId, until })
  yield* tx.run(purgeEnded, { userId, until })
  assertKeyRoom((yield* tx.get(count, { userId, now }))!)
  const id = newId('key', now)
  const limits = { spendLimit, spendReset, rateLimit, agents: agents && JSON.stringify(agents), countsAs }
  yield* tx.run(insert, { ...rest, id, userId, scopes: scopes.join(','), createdAt: now, ...limits })
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

/**
 * Updates a key. If the limit's reset period changes, the spend in the new period is summed outside the transaction.
 */
export async function updateKey(engine: Engine, input: UpdateKey): Promise<KeyRecord | undefined> {
  let summed: SpentSoFar | undefined
  for (;;) {
    const command = recorded(
      (tx) => changeKey(tx, { ...input, summed }),
      (done) =>
        'key' in done &&
        done.key && { action: 'key.updated', userId: input.userId, change: { keyId: input.keyId, ...input.changes } },
    )
    const changed = await engine.run(command, input)
    if ('key' in changed) return changed.key
    summed = await engine.read((on) => sumSpent(on, changed.unsummed), input.userId)
  }
}

type Changed = { key: KeyRecord | undefined } | { unsummed: SpendPeriod }

function* changeKey(tx: Tx, { changes, summed, ...of }: UpdateKey & { summed: SpentSoFar | undefined }): Op<Changed> {
  const { userId } = of
  yield* tx.lockAccount({ userId })
  const known = yield* getKey(tx, of)
  if (!known) return { key: undefined }
  const { agents, rateLimit, spendLimit, spendReset } = { ...known, ...changes }
  const { countsAs: ownerId } = known
  const now = yield* tx.now()
  if (spendLimit !== null && spendReset !== known.spendReset) {
    const reset = spendReset ?? 'never'
    const period = { ownerId, reset, userId }
    const spent = yield* restOfSpent(tx, period, summed)
    if (spent === undefined) return { unsummed: period }
    yield* carryOver(tx, { ownerId, userId, amount: spendLimit, startsAt: periodStart(reset, now), spent })
  }
  tx.holdersChanged('keys')
  const limits = { spendLimit, spendReset, rateLimit, agents: agents && JSON.stringify(agents) }
  yield* tx.run(update, { userId, countsAs: ownerId, ...limits, now })
  limitWindows(tx, { ownerId, amount: spendLimit ?? Infinity })
  if (spendLimit !== known.spendLimit) rearmReached(tx, ownerId)
  return { key: yield* getKey(tx, of) }
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
  yield* tx.lockAccount({ userId })
  const old = yield* getKey(tx, { userId, keyId })
  if (!old) return undefined
  const { agents, countsAs, rateLimit, spendLimit, spendReset } = old
  const created = yield* createKey(tx, { ...key, agents, rateLimit, spendLimit, spendReset }, countsAs)
  const replaced = yield* tx.run(replace, { userId, keyId, oldExpiresAt, replacedBy: created.id })
  if (replaced === 1) {
    yield* tx.run(inherit, { userId, keyId, replacedBy: created.id })
    return created
  }
  yield* tx.run(remove, { userId, keyId: created.id })
  return undefined
}

export function* touchKeys(tx: Tx, uses: readonly { keyId: string; at: EpochMs }[]): Op<void> {
  yield* tx.run(touch, { uses: JSON.stringify(Object.fromEntries(uses.map(({ at, keyId }) => [keyId, at]))) })
}

function toRecord({ agents, countsAs, scopes, ...key }: Row): KeyRecord {
  return {
    ...key,
    agents: listOf(agents),
    countsAs: countsAs ?? key.id,
    scopes: scopes.split(',') as Scope[],
  }
}
