import type { Clock } from '../../kernel/clock.ts'
import type { GrantRecord } from '../../store/connectors/grant-records.ts'
import type { ConnectorOf } from '../../store/records.ts'
import type { Store } from '../../store/store.ts'
import { ConnectorError, type RenewToken, type TokenResult } from '../connector-spec.ts'
import { grantOwner, SealedSecretsError, type SecretVault } from '../secret-vault.ts'
import { DeniedError, type OAuthClient, type Target, type Tokens } from './oauth-client.ts'

type Parts = { clock: Clock; oauth: OAuthClient; store: Store; vault: SecretVault }

/** What is kept of a sign-in; without tokens where it has ended, and its client may serve the next one. */
export type Kept = Omit<Target, 'userId'> & {
  tokens?: Tokens
  /** What the sign-in asked for; without tokens what the next one has to ask for, beside what the server says. */
  scope?: string | null
}

/** So long before a token's end another is asked for, or a quarter of its life. */
const earlyMsMax = 60_000
/** For an exchange: longer than its request may take. */
const claimMs = 30_000
const waitMsMax = 35_000
const waitMs = 200

/**
 * The tokens of users' sign-ins. A refresh token may be worth one exchange, and a second one may end the whole sign-in: so
 * each version of the tokens is exchanged by one of all nodes, which claims it in the store, and the others wait for it.
 */
export class GrantTokens {
  readonly #parts: Parts
  /** Of this process. */
  readonly #exchanges = new Map<string, Promise<unknown>>()

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /**
   * An access token that is good for a while yet; another than that of the version `refused`, which the connector's
   * server did not take, or not for want of `scopeNeeded`. Never throws for what a server answers.
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
        // Another sign-in for the same would bring the same token.
        const scope = addedScope(kept.scope, refusal.scopeNeeded)
        if (scope === null) return { failure: 'The server refuses what its sign-in does not allow (HTTP 403).' }
        const message = 'The server asks for more than the sign-in allows: sign in again to allow it.'
        await this.#end(grant, { client: kept, message, scope })
        continue
      }
      if (refreshToken === undefined) {
        if (!isRefused && leftMs > 0) return current
        const message = isRefused
          ? 'The server does not take its token any more, and there is none to refresh it with.'
          : 'The sign-in has ended, and there is no token to refresh it with.'
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
      // Whoever claimed it is at it.
      if (!isRefused && leftMs > 0) return current
      if (performance.now() > until)
        return { failure: 'Its token is being refreshed, which takes too long; try again.' }
      await new Promise((resolve) => setTimeout(resolve, waitMs))
    }
  }

  /** For a run that is under way. Never rejects. */
  async renew({ scopeNeeded, version, ...of }: Parameters<RenewToken>[0]): Promise<TokenResult> {
    return await this.tokenFor(of, { version, scopeNeeded }).catch(() => ({
      failure: 'Its token could not be refreshed; try again.',
    }))
  }

  /** Undefined when its secrets cannot be read any more. */
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

  /** Null when there are newer tokens now, or none; else why not. */
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
        await this.#end(grant, { client, message: `The sign-in has ended. ${error.message}` })
        return null
      }
      await store.grants.release({ ...of, version })
      if (error instanceof ConnectorError) return `Its token could not be refreshed. ${error.message}`
      throw error
    }
    const sealed = this.seal(of, { ...kept, tokens })
    const expiresInMs = tokens.lifeMs ?? null
    // Else the connector was signed out, or its address changed, and nobody will use them.
    if (!(await store.grants.renew({ ...of, version, sealed, expiresInMs }))) await oauth.revoke(target, tokens)
    return null
  }

  /** With a client that the server still knows the next sign-in needs no other. */
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
    const advice = `sign in to it in the console, or with POST /api/connectors/${of.connectorId}/sign-in`
    return `It needs a sign-in: ${advice}.${reason === '' ? '' : ` ${reason}`}`
  }
}

/** Both together; null when what is needed was asked for. Of a sign-in that did not say what it asked for, all is new. */
function addedScope(asked: string | null | undefined, needed: string): string | null {
  const had = new Set(asked?.split(' ').filter(Boolean))
  const all = new Set([...had, ...needed.split(' ').filter(Boolean)])
  return all.size === had.size ? null : [...all].join(' ')
}
