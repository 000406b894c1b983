import { newId } from '../../../kernel/ids.ts'
import { assertTokenRoom } from '../../account-bounds.ts'
import type { CredentialLimits } from '../../execution-limits.ts'
import type { ClientTokenHolder, ClientTokenRecord, CreateClientToken } from '../../platform/platform-records.ts'
import type { Scope } from '../../records.ts'
import type { Answer, Op, Reads, Tx } from '../command.ts'
import { columns, insertInto, statement } from '../statement.ts'

// Tokens that browsers use in the name of a user.

type Written<Record extends { scopes: unknown; agents: unknown; isOnce: unknown }> = Omit<
  Record,
  'scopes' | 'agents' | 'isOnce'
> & { scopes: string; agents: string | null; isOnce: 0 | 1 }

type FlaggedHolder = Written<Omit<ClientTokenHolder, 'isAdmin'>> & { isAdmin: 0 | 1 }

const never = Number.MAX_SAFE_INTEGER
const keptMs = 86_400_000

const names = 'id userId scopes agents sessionId taskId maxCost isOnce createdBy createdAt expiresAt'
const row = columns(`${names} revokedAt`)
const of = (name: string) => `client_tokens.${name}`

const insert = statement('client_token_insert', insertInto('client_tokens', `${names} tokenHash`))
const endOf = (table: string, least: string) => `(SELECT ${least}(coalesce(maker.revoked_at, ${never}),
    coalesce(maker.expires_at, ${never})) FROM ${table} AS maker WHERE maker.id = ${of('created_by')})`
// What made it may be gone altogether, as a login is that has ended.
const find = statement<FlaggedHolder>(
  'client_token_find',
  ({ least }) => `SELECT client_tokens.id,
      ${columns('userId scopes agents sessionId taskId maxCost isOnce createdBy expiresAt revokedAt')},
      ${columns('email isAdmin suspendedAt')},
      coalesce(${endOf('api_keys', least)}, ${endOf('platform_keys', least)},
        (SELECT maker.expires_at FROM logins AS maker WHERE maker.id = ${of('created_by')}), 0) AS "makerEndsAt"
    FROM client_tokens JOIN users ON users.id = user_id WHERE token_hash = :tokenHash`,
)
const thisToken = 'id = :tokenId AND user_id = :userId'
const get = statement<Written<ClientTokenRecord>>(
  'client_token_get',
  `SELECT ${row} FROM client_tokens WHERE ${thisToken}`,
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
const purge = statement(
  'client_token_purge',
  `DELETE FROM client_tokens WHERE id IN (SELECT id FROM client_tokens WHERE expires_at <= :until LIMIT :rowsMax)`,
)

export function* createClientToken(tx: Tx, input: CreateClientToken): Op<ClientTokenRecord> {
  const { agents, isOnce, scopes, userId } = input
  yield* tx.lockAccount({ userId })
  const now = yield* tx.now()
  assertTokenRoom((yield* tx.get(countLive, { userId, now }))!.live)
  const id = newId('ctok', now)
  const written = { scopes: scopes.join(','), agents: agents && JSON.stringify(agents), isOnce: isOnce ? 1 : 0 }
  yield* tx.run(insert, { ...input, ...written, id, createdAt: now })
  tx.made({ table: 'client_tokens', id })
  return (yield* getClientToken(tx, { userId, tokenId: id }))!
}

export function findClientToken(on: Reads, tokenHash: string): Answer<ClientTokenHolder | undefined> {
  return on
    .get(find, { tokenHash })
    .map((found) => found && { ...found, ...readFields(found), isAdmin: found.isAdmin === 1 })
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

/**
 * Takes the one execution that a client token admits, where that is its limit; false when it was taken before. For an
 * account that is locked, in the transaction that admits the execution.
 */
export function* takeOnce(tx: Tx, limits: CredentialLimits | null | undefined): Op<boolean> {
  const tokenId = limits?.onceTokenId ?? null
  return tokenId === null || (yield* tx.run(use, { tokenId, now: yield* tx.now() })) === 1
}

/** How many were removed. */
export function* purgeClientTokens(tx: Tx, rowsMax: number): Op<number> {
  return yield* tx.run(purge, { until: (yield* tx.now()) - keptMs, rowsMax })
}

function* getClientToken(on: Reads, token: { userId: string; tokenId: string }): Op<ClientTokenRecord | undefined> {
  const found = yield* on.get(get, token)
  return found && { ...found, ...readFields(found) }
}

function readFields({ agents, isOnce, scopes }: { scopes: string; agents: string | null; isOnce: 0 | 1 }) {
  return {
    scopes: scopes.split(',') as Scope[],
    agents: agents === null ? null : (JSON.parse(agents) as string[]),
    isOnce: isOnce === 1,
  }
}
