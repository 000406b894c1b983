import type { ConnectorOf, ConnectorRecord } from './connector-types.ts'
import type { EpochMs } from '../../kernel/clock.ts'

export type GrantRecord = ConnectorOf & {
  issuer: string
  /** The OAuth client and the tokens, encrypted. If the connector needs a sign-in, only the client. */
  sealed: string
  expiresAt: EpochMs | null
  /** Version of the tokens. Each sign-in and refresh sets a version that the connector has never had before. */
  version: number
}

/** A sign-in whose browser has not returned from the authorization server yet. */
export type SignInRecord = ConnectorOf & { sealed: string; expiresAt: EpochMs }

type VersionOf = ConnectorOf & { version: number }
type Tokens = { sealed: string; expiresInMs: number | null }

export type ConnectorGrantStore = {
  get(of: ConnectorOf): Promise<GrantRecord | undefined>
  isPending(of: ConnectorOf): Promise<boolean>
  /**
   * Starts a sign-in and discards the connector's pending ones. Returns undefined if the connector has changed since
   * `ifUpdatedAt`.
   */
  begin(
    input: ConnectorOf & { stateHash: string; sealed: string; lifeMs: number; ifUpdatedAt: EpochMs },
  ): Promise<{ expiresAt: EpochMs } | undefined>
  /** Finds a pending sign-in, even if it has expired. */
  find(stateHash: string): Promise<SignInRecord | undefined>
  /**
   * Ends a pending sign-in and returns its connector. Only one caller succeeds. Returns undefined if the sign-in has
   * ended or expired.
   */
  take(stateHash: string): Promise<ConnectorRecord | undefined>
  /**
   * Stores the result of a sign-in. If the connector has changed since `ifUpdatedAt`, stores nothing and returns
   * false.
   */
  keep(input: ConnectorOf & Tokens & { issuer: string; ifUpdatedAt: EpochMs }): Promise<boolean>
  noteFailure(input: ConnectorOf & { message: string }): Promise<void>
  /**
   * Claims the refresh of these tokens, until `renew`, `release` or the end of `forMs`. Returns false if another
   * caller has claimed it, or if there is a newer version.
   */
  claim(input: VersionOf & { forMs: number }): Promise<boolean>
  /** Stores the refreshed tokens. Returns undefined if this version is no longer the newest. */
  renew(input: VersionOf & Tokens): Promise<GrantRecord | undefined>
  /** Releases a claim whose refresh was not made. */
  release(input: VersionOf): Promise<void>
  /**
   * Ends the access, so that the connector needs a new sign-in. Only `sealed` remains, which contains the OAuth
   * client. If `sealed` is null, nothing remains. Returns false if the connector has no tokens or they have another
   * version. A `version` of null matches any version.
   */
  end(input: ConnectorOf & { version: number | null; sealed: string | null; message: string | null }): Promise<boolean>
  /** Returns grants of all users ordered by connector id, starting after `afterId`. */
  sealed(input: { afterId: string; limit: number }): Promise<GrantRecord[]>
  /**
   * Replaces the encrypted tokens with the same tokens under another encryption key. Returns false if the stored
   * tokens are no longer `from`.
   */
  reseal(input: { connectorId: string; from: string; to: string }): Promise<boolean>
}
