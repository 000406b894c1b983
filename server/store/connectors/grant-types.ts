import type { ConnectorOf, ConnectorRecord } from './connector-types.ts'
import type { EpochMs } from '../../kernel/clock.ts'

export type GrantRecord = ConnectorOf & {
  issuer: string
  /** The encrypted OAuth client and tokens. Contains only the client if the connector needs a sign-in. */
  sealed: string
  expiresAt: EpochMs | null
  /** Changed by each sign-in and refresh, and never reused. */
  version: number
}

/** A pending sign-in: the browser has not yet returned from the authorization server. */
export type SignInRecord = ConnectorOf & { sealed: string; expiresAt: EpochMs }

type VersionOf = ConnectorOf & { version: number }
type Tokens = { sealed: string; expiresInMs: number | null }

export type ConnectorGrantStore = {
  get(of: ConnectorOf): Promise<GrantRecord | undefined>
  isPending(of: ConnectorOf): Promise<boolean>
  /** Starts a sign-in and discards pending ones. Returns undefined if the connector has changed since `ifUpdatedAt`. */
  begin(
    input: ConnectorOf & { stateHash: string; sealed: string; lifeMs: number; ifUpdatedAt: EpochMs },
  ): Promise<{ expiresAt: EpochMs } | undefined>
  /** Finds a pending sign-in, even if it has expired. */
  find(stateHash: string): Promise<SignInRecord | undefined>
  /**
   * Ends a pending sign-in and returns its connector. Returns undefined if the sign-in has expired or another caller
   * has taken it.
   */
  take(stateHash: string): Promise<ConnectorRecord | undefined>
  /**
   * Stores the tokens from a sign-in. Returns false and stores nothing if the connector has changed since
   * `ifUpdatedAt`.
   */
  keep(input: ConnectorOf & Tokens & { issuer: string; ifUpdatedAt: EpochMs }): Promise<boolean>
  noteFailure(input: ConnectorOf & { message: string }): Promise<void>
  /**
   * Claims the right to refresh these tokens until `renew` or `release` is called, or until `forMs` has passed. Returns
   * false if the refresh is already claimed or the version is outdated.
   */
  claim(input: VersionOf & { forMs: number }): Promise<boolean>
  /** Stores the refreshed tokens. Returns undefined if this version is outdated. */
  renew(input: VersionOf & Tokens): Promise<GrantRecord | undefined>
  /** Releases a claim without refreshing the tokens. */
  release(input: VersionOf): Promise<void>
  /**
   * Ends the sign-in, so that the connector needs a new one. Keeps only `sealed` (the encrypted OAuth client), or
   * nothing if `sealed` is null. Returns false if the connector has no tokens or a different version of them. If
   * `version` is null, any version matches.
   */
  end(input: ConnectorOf & { version: number | null; sealed: string | null; message: string | null }): Promise<boolean>
  /** Returns all users' grants, ordered by connector id, starting after `afterId`. */
  sealed(input: { afterId: string; limit: number }): Promise<GrantRecord[]>
  /** Stores the same tokens encrypted with another key. Returns false if the stored tokens are no longer `from`. */
  reseal(input: { connectorId: string; from: string; to: string }): Promise<boolean>
}
