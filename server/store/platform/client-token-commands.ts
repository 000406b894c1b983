import type { Holder } from '../access/people-types.ts'
import { newId } from '../../kernel/ids.ts'
import { assertTokenRoom } from '../limits/account-bounds.ts'
import type { CredentialLimits } from '../limits/execution-limits.ts'
import type { ClientTokenHolder, ClientTokenRecord, CreateClientToken, TokenScope } from './platform-types.ts'
import type { Answer, Op, Reads, Tx } from '../commands/command.ts'
import type { Page } from '../list-place.ts'
import { holderColumns, joinHolder, withHolder, type HolderRow } from '../access/credential-holder.ts'
import { keyLimits, type StoredLimits } from '../access/stored-keys.ts'
import { columns, insertInto, statement } from '../commands/statement.ts'

type Written<Record extends { scopes: unknown; agents: unknown; isOnce: unknown }> = Omit<
  Record,
  'scopes' | 'agents' | 'isOnce'
> & { scopes: string; agents: string | null; isOnce: 0 | 1 }

type FoundRow = Written<Omit<ClientTokenHolder, keyof Holder | 'makerLimits'>> &
  HolderRow &
  StoredLimits & { makerAgents: string | null }

const never = Number.MAX_SAFE_INTEGER
const keptMs = 86_400_000

const names = 'id userId scopes agents sessionId taskId maxCost isOnce createdBy createdAt expiresAt'
const row = columns(`${names} revokedAt`)
const insert = statement('client_token_insert', insertInto('client_tokens', `${names} tokenHash`))
const ofToken = (names: string) => columns(names).replaceAll(/(^|, )/g, '$1t.')
const ended = (maker: string, least: string) =>
  `${least}(coalesce(${maker}.revoked_at, ${never}), coalesce(${maker}.expires_at, ${never}))`
const joinMaker = `LEFT JOIN api_keys AS k ON k.id = t.created_by
  LEFT JOIN platform_keys AS p ON p.id = t.created_by LEFT JOIN logins AS l ON l.id = t.created_by`
// The creator may no longer exist, for example if a login has ended.
const makerEndsAt = (least: string) => `CASE WHEN k.id IS NOT NULL THEN ${ended('k', least)}
  WHEN p.id IS NOT NULL THEN ${ended('p', least)} ELSE coalesce(l.expires_at, 0) END`
const find = statement<FoundRow>(
  'client_token_find',
  ({
    least,
  }) => `SELECT ${ofToken('id userId scopes agents sessionId taskId maxCost isOnce createdBy expiresAt revokedAt')},
      ${holderColumns}, k.agents AS "makerAgents", k.spend_limit AS "spendLimit",
      k.spend_reset AS "spendReset", k.rate_limit AS "rateLimit", k.counts_as AS "countsAs",
      ${makerEndsAt(least)} AS "makerEndsAt"
    FROM client_tokens AS t ${joinHolder('t.user_id')} ${joinMaker}
    WHERE t.token_hash = :tokenHash`,
)
const thisToken = 'id = :tokenId AND user_id = :userId'
const get = statement<Written<ClientTokenRecord>>(
  'client_token_get',
  `SELECT ${row} FROM client_tokens WHERE ${thisToken}`,
)
const fromLive = (least: string) => `FROM client_tokens AS t ${joinMaker}
    WHERE t.user_id = :userId AND t.revoked_at IS NULL AND t.expires_at > :now AND ${makerEndsAt(least)} > :now`
const listLive = statement<Written<ClientTokenRecord>>(
  'client_token_list',
  ({ least }) =>
    `SELECT ${ofToken(`${names} revokedAt`)} ${fromLive(least)} ORDER BY t.id DESC LIMIT :limit OFFSET :offset`,
)
const countListed = statement<{ total: number }>(
  'client_token_count_listed',
  ({ least }) => `SELECT count(*) AS total ${fromLive(least)}`,
)
const fromKey = `FROM client_tokens WHERE created_by = :keyId AND expires_at > :now AND revoked_at IS NULL
    AND EXISTS (SELECT 1 FROM platform_keys AS p WHERE p.id = :keyId AND p.revoked_at IS NULL)`
const listOfKey = statement<Written<ClientTokenRecord>>(
  'client_token_list_of_key',
  `SELECT ${row} ${fromKey} ORDER BY id DESC LIMIT :limit`,
)
const countOfKey = statement<{ total: number }>('client_token_count_of_key', `SELECT count(*) AS total ${fromKey}`)
const ownerOf = statement<{ userId: string }>(
  'client_token_owner',
  'SELECT user_id AS "userId" FROM client_tokens WHERE id = :tokenId AND created_by = :keyId',
)
const countLive = statement<{ live: number }>(
  'client_token_count',
  `SELECT count(*) AS live FROM client_tokens
    WHERE user_id = :userId AND revoked_at IS NULL AND expires_at > :now`,
)
const revoke = statement(
  'client_token_revoke',
  `UPDATE client_tokens SET revoked_at = :now WHERE ${thisToken} AND revoked_at IS NULL`,
)
const use = statement(
  'client_token_use',
  'UPDATE client_tokens SET used_at = :now WHERE id = :tokenId AND used_at IS NULL',
)
const old = '(SELECT id FROM client_tokens WHERE expires_at <= :until ORDER BY expires_at, id LIMIT :rowsMax)'
const purgeWindows = statement('client_token_purge_windows', `DELETE FROM spend_windows WHERE owner_id IN ${old}`)
const purge = statement('client_token_purge', `DELETE FROM client_tokens WHERE id IN ${old}`)

export function* createClientToken(tx: Tx, input: CreateClientToken): Op<ClientTokenRecord> {
  const { agents, isOnce, lifeMs, scopes, userId, ...rest } = input
  yield* tx.lockAccount({ userId })
  const now = yield* tx.now()
  assertTokenRoom((yield* tx.get(countLive, { userId, now }))!.live)
  const id = newId('ctok', now)
  const written = { scopes: scopes.join(','), agents: agents && JSON.stringify(agents), isOnce: isOnce ? 1 : 0 }
  yield* tx.run(insert, { ...rest, ...written, id, userId, createdAt: now, expiresAt: now + lifeMs })
  tx.made({ table: 'client_tokens', id })
  return (yield* getClientToken(tx, { userId, tokenId: id }))!
}

export function findClientToken(on: Reads, tokenHash: string): Answer<ClientTokenHolder | undefined> {
  return on.get(find, { tokenHash }).map((found) => found && toHolder(found))
}

export function* listClientTokens(
  on: Reads,
  of: Page & { userId: string },
): Op<{ tokens: ClientTokenRecord[]; total: number }> {
  const now = yield* on.now()
  const rows = yield* on.all(listLive, { ...of, now })
  const { total } = (yield* on.get(countListed, { userId: of.userId, now }))!
  return { tokens: rows.map((found) => ({ ...found, ...readFields(found) })), total }
}

export function* listKeyTokens(
  on: Reads,
  { keyId, limit }: { keyId: string; limit: number },
): Op<{ tokens: ClientTokenRecord[]; total: number }> {
  const of = { keyId, now: yield* on.now() }
  const rows = yield* on.all(listOfKey, { ...of, limit })
  const { total } = (yield* on.get(countOfKey, of))!
  return { tokens: rows.map((found) => ({ ...found, ...readFields(found) })), total }
}

function toHolder({ countsAs, makerAgents, rateLimit, spendLimit, spendReset, ...found }: FoundRow): ClientTokenHolder {
  const { agents, ...fields } = readFields(found)
  const ofMaker = listOf(makerAgents)
  // The creating key's allowed agents may have changed since the token was created.
  const both = ofMaker === null ? agents : (agents ?? ofMaker).filter((agent) => ofMaker.includes(agent))
  const makerLimits = keyLimits({ keyId: found.createdBy, countsAs, rateLimit, spendLimit, spendReset })
  return { ...withHolder(found), ...fields, agents: both, makerLimits }
}

export function* revokeClientToken(
  tx: Tx,
  token: { userId: string; tokenId: string },
): Op<ClientTokenRecord | undefined> {
  yield* tx.lockAccount({ userId: token.userId })
  tx.holdersChanged('client-tokens')
  yield* tx.run(revoke, { ...token, now: yield* tx.now() })
  return yield* getClientToken(tx, token)
}

export function* revokeKeyToken(tx: Tx, of: { keyId: string; tokenId: string }): Op<ClientTokenRecord | undefined> {
  const { tokenId } = of
  const owner = yield* tx.get(ownerOf, of)
  return owner && (yield* revokeClientToken(tx, { tokenId, userId: owner.userId }))
}

/**
 * Marks a single-use client token as used. Returns false if it was already used. Call this with the account locked, in
 * the transaction that admits the execution.
 */
export function* takeOnce(tx: Tx, limits: CredentialLimits | null | undefined): Op<boolean> {
  const tokenId = limits?.onceTokenId ?? null
  return tokenId === null || (yield* tx.run(use, { tokenId, now: yield* tx.now() })) === 1
}

export function* purgeClientTokens(tx: Tx, rowsMax: number): Op<number> {
  const values = { until: (yield* tx.now()) - keptMs, rowsMax }
  tx.used.writeOut()
  yield* tx.run(purgeWindows, values)
  return yield* tx.run(purge, values)
}

function* getClientToken(on: Reads, token: { userId: string; tokenId: string }): Op<ClientTokenRecord | undefined> {
  const found = yield* on.get(get, token)
  return found && { ...found, ...readFields(found) }
}

function readFields({ agents, isOnce, scopes }: { scopes: string; agents: string | null; isOnce: 0 | 1 }) {
  return {
    scopes: scopes.split(',') as TokenScope[],
    agents: listOf(agents),
    isOnce: isOnce === 1,
  }
}

function listOf(agents: string | null): string[] | null {
  return agents === null ? null : (JSON.parse(agents) as string[])
}
