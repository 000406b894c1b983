import type { ConnectorOf } from '../../store/connectors/connector-types.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { GrantRecord } from '../../store/connectors/grant-types.ts'
import type { Store } from '../../store/store.ts'
import { ConnectorError, type RenewToken, type TokenResult } from '../connector-spec.ts'
import { grantOwner, SealedSecretsError, type SecretVault } from '../../kernel/secret-vault.ts'
import { DeniedError, type OAuthClient, type Target, type Tokens } from './oauth-client.ts'

type Parts = { clock: Clock; oauth: OAuthClient; store: Store; vault: SecretVault }

/** Stored data of a sign-in. Without `tokens`, the sign-in has ended, and the next one can reuse its client. */
export type Kept = Omit<Target, 'userId'> & {
  tokens?: Tokens
  /**
   * Scope that the sign-in requested. After the sign-in has ended, the scope that the next one must request in addition
   * to the server's declared scope.
   */
  scope?: string | null
}

/** Tokens are refreshed this long before they expire, or after three quarters of their lifetime if that is later. */
const earlyMsMax = 60_000
/** How long a node's claim to a token exchange lasts. Longer than the request can take. */
const claimMs = 30_000
const waitMsMax = 35_000
const waitMs = 200

/**
 * The tokens of users' sign-ins. A refresh token may be valid for one exchange only, and a second exchange may revoke
 * all tokens of the sign-in. Therefore, one node claims a version of the tokens in the store and exchanges it while the
 * others wait.
 */
export class GrantTokens {
  readonly #parts: Parts
  readonly #exchanges = new Map<string, Promise<unknown>>()

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /**
   * Returns an access token that stays valid for a while. If `refusal` is given, the connector's server has rejected
   * that version of the token, because it is invalid or lacks `scopeNeeded`. The result then has another version. A
   * server's error responses become results, not exceptions.
   */
  async tokenFor(of: ConnectorOf, refusal?: { version: number; scopeNeeded: string | null }): Promise<TokenResult> {
    const { clock, store } = this.#parts
    const until = performance.now() + waitMsMax
    for (;;) {
      await this.#exchanges.get(of.connectorId)
      const grant = await store.grants.get(of)
      const kept = grant && this.open(grant)
      if (!grant || !kept?.tokens) return { needsSignIn: await this.#whyNot(of) }
      const { accessToken, lifeMs = Infinity, refreshToken } = kept.tokens
      const isRefused = grant.version === refusal?.version
      const leftMs = grant.expiresAt === null ? Infinity : grant.expiresAt - clock.now()
      const current = { token: accessToken, version: grant.version }
      if (!isRefused && leftMs > Math.min(earlyMsMax, lifeMs / 4)) return current
      if (isRefused && refusal.scopeNeeded !== null) {
        // A new sign-in with the same scope would not help, because its token would have the same permissions.
        const scope = addedScope(kept.scope, refusal.scopeNeeded)
        if (scope === null)
          return {
            failure:
              'The server rejected the call, because the sign-in does not permit it (HTTP 403). Sign in with more permissions.',
          }
        const message = 'The server requires more permissions than the sign-in granted. Sign in again to grant them.'
        await this.#end(grant, { client: kept, message, scope })
        continue
      }
      if (refreshToken === undefined) {
        if (!isRefused && leftMs > 0) return current
        const message = isRefused
          ? 'The server no longer accepts the access token, and there is no refresh token. Sign in again.'
          : 'The sign-in has expired, and there is no refresh token. Sign in again.'
        await this.#end(grant, { client: kept, message })
        continue
      }
      const claim = { ...of, version: grant.version }
      if (!this.#exchanges.has(of.connectorId) && (await store.grants.claim({ ...claim, forMs: claimMs }))) {
        const exchange = this.#exchange(grant, kept, refreshToken)
        this.#exchanges.set(of.connectorId, exchange)
        const failure = await exchange.finally(() => this.#exchanges.delete(of.connectorId))
        if (failure === null) continue
        return !isRefused && leftMs > 0 ? current : { failure }
      }
      // Another node or call is exchanging the token.
      if (!isRefused && leftMs > 0) return current
      if (performance.now() > until) return { failure: 'Refreshing the access token took too long. Try again.' }
      await new Promise((resolve) => setTimeout(resolve, waitMs))
    }
  }

  /** Renews the token of a run in progress. Never rejects. */
  async renew({ scopeNeeded, version, ...of }: Parameters<RenewToken>[0]): Promise<TokenResult> {
    return await this.tokenFor(of, { version, scopeNeeded }).catch(() => ({
      failure: 'Could not refresh the access token. Try again.',
    }))
  }

  open(grant: GrantRecord): Kept | undefined {
    try {
      const { kept = '{}' } = this.#parts.vault.open(grant.sealed, grantOwner(grant))
      return JSON.parse(kept) as Kept
    } catch (error) {
      if (error instanceof SealedSecretsError) return undefined
      throw error
    }
  }

  seal(of: ConnectorOf, kept: Kept): string {
    return this.#parts.vault.seal({ kept: JSON.stringify(kept) }, grantOwner({ ...of, issuer: kept.server.issuer }))
  }

  /**
   * Exchanges the refresh token. Returns the reason for a failure, or null if newer tokens now exist or the sign-in has
   * ended.
   */
  async #exchange(grant: GrantRecord, kept: Kept, refreshToken: string): Promise<string | null> {
    const { oauth, store } = this.#parts
    const { connectorId, userId, version } = grant
    const of = { connectorId, userId }
    const target = { ...kept, userId }
    let tokens: Tokens
    try {
      tokens = await oauth.refresh(target, refreshToken)
    } catch (error) {
      if (error instanceof DeniedError) {
        const client = error.of === 'token' ? kept : null
        await this.#end(grant, { client, message: `The sign-in is no longer valid. ${error.message}` })
        return null
      }
      await store.grants.release({ ...of, version })
      if (error instanceof ConnectorError) return `Could not refresh the access token. ${error.message}`
      throw error
    }
    const sealed = this.seal(of, { ...kept, tokens })
    const expiresInMs = tokens.lifeMs ?? null
    // If the new tokens cannot be stored, the connector was signed out or its URL changed, so revoke them.
    if (!(await store.grants.renew({ ...of, version, sealed, expiresInMs }))) await oauth.revoke(target, tokens)
    return null
  }

  /**
   * Ends a sign-in. Keeps the OAuth client registration for the next one, unless the authorization server no longer
   * recognizes it.
   */
  async #end(
    grant: GrantRecord,
    { client, message, scope = null }: { client: Kept | null; message: string; scope?: string | null },
  ): Promise<void> {
    const { connectorId, userId, version } = grant
    const of = { connectorId, userId }
    let sealed: string | null = null
    if (client !== null) {
      const { tokens: _ended, ...rest } = client
      sealed = this.seal(of, { ...rest, scope })
    }
    await this.#parts.store.grants.end({ ...of, version, sealed, message })
  }

  async #whyNot(of: ConnectorOf): Promise<string> {
    const connector = await this.#parts.store.getConnector(of)
    const reason = connector?.status === 'needs_sign_in' ? (connector.statusMessage ?? '') : ''
    const advice = `Use the console or POST /api/connectors/${of.connectorId}/sign-in`
    return `The connector needs a sign-in.${reason === '' ? '' : ` ${reason}`} ${advice}.`
  }
}

/**
 * Returns the union of both scopes, or null if all of `needed` was already requested. A missing scope counts as empty.
 */
function addedScope(asked: string | null | undefined, needed: string): string | null {
  const had = new Set(asked?.split(' ').filter(Boolean))
  const all = new Set([...had, ...needed.split(' ').filter(Boolean)])
  return all.size === had.size ? null : [...all].join(' ')
}
