import type { ConnectorOf, ConnectorRecord } from './connector-types.ts'
import type { EpochMs } from '../../kernel/clock.ts'

/** Result of a sign-in at a connector's authorization server. */
export type GrantRecord = ConnectorOf & {
  issuer: string
  /** Tokens and OAuth client, encrypted; only the client if the connector needs a sign-in. */
  sealed: string
  /** Expiry of the access token; null if the server does not specify one. */
  expiresAt: EpochMs | null
  /** Version of the tokens. Each sign-in and refresh sets a version that the connector never had before. */
  version: number
}

/** A sign-in in progress: the browser has not returned from the authorization server. */
export type SignInRecord = ConnectorOf & { sealed: string; expiresAt: EpochMs }

type VersionOf = ConnectorOf & { version: number }
type Tokens = { sealed: string; expiresInMs: number | null }

export type ConnectorGrantStore = {
  get(of: ConnectorOf): Promise<GrantRecord | undefined>
  isPending(of: ConnectorOf): Promise<boolean>
  /**
   * Starts a sign-in and discards the connector's pending ones. Undefined if the connector has changed since
   * `ifUpdatedAt`.
   */
  begin(
    input: ConnectorOf & { stateHash: string; sealed: string; lifeMs: number; ifUpdatedAt: EpochMs },
  ): Promise<{ expiresAt: EpochMs } | undefined>
  /** Finds a pending sign-in, even an expired one. */
  find(stateHash: string): Promise<SignInRecord | undefined>
  /** Ends a pending sign-in and returns its connector. Works once. Undefined if the sign-in is gone or expired. */
  take(stateHash: string): Promise<ConnectorRecord | undefined>
  /**
   * Stores the result of a sign-in. If the connector has changed since `ifUpdatedAt`, stores nothing and returns false.
   */
  keep(input: ConnectorOf & Tokens & { issuer: string; ifUpdatedAt: EpochMs }): Promise<boolean>
  /** Stores why a sign-in failed, if the connector still needs a sign-in. */
  noteFailure(input: ConnectorOf & { message: string }): Promise<void>
  /**
   * Claims the refresh of these tokens. Returns false if another caller holds the claim or this version is no longer
   * the newest. The claim ends with `renew` or `release`, or after `forMs`.
   */
  claim(input: VersionOf & { forMs: number }): Promise<boolean>
  /** Stores the tokens obtained by refreshing this version. Undefined if this version is no longer the newest. */
  renew(input: VersionOf & Tokens): Promise<GrantRecord | undefined>
  /** Gives up a claim because the refresh did not take place. */
  release(input: VersionOf): Promise<void>
  /**
   * Ends the access, so that the connector needs a new sign-in. Keeps only `sealed`, which contains the client, or
   * nothing if `sealed` is null. Returns false if there are no tokens, or if their version is not `version`. Null
   * matches any version.
   */
  end(input: ConnectorOf & { version: number | null; sealed: string | null; message: string | null }): Promise<boolean>
  /** Grants of all users in order of connector id, starting after `afterId`. */
  sealed(input: { afterId: string; limit: number }): Promise<GrantRecord[]>
  /** Stores the same tokens encrypted with another key. Returns false if the stored tokens are no longer `from`. */
  reseal(input: { connectorId: string; from: string; to: string }): Promise<boolean>
}
