import type { EpochMs } from '../../kernel/clock.ts'
import type { ConnectorOf, ConnectorRecord } from '../records.ts'

/** What the sign-in at a connector's authorization server gave. */
export type GrantRecord = ConnectorOf & {
  issuer: string
  /** Tokens and client, encrypted; the client alone where its connector needs a sign-in. */
  sealed: string
  /** Of the access token; null where the server does not say. */
  expiresAt: EpochMs | null
  /** Of the tokens: each exchange of them makes another, and no version comes twice. */
  version: number
}

/** A sign-in that was begun and has not come back. */
export type SignInRecord = ConnectorOf & { sealed: string; expiresAt: EpochMs }

type VersionOf = ConnectorOf & { version: number }
type Tokens = { sealed: string; expiresInMs: number | null }

export type ConnectorGrantStore = {
  get(of: ConnectorOf): Promise<GrantRecord | undefined>
  /** Whether a sign-in was begun and has not come back. */
  isPending(of: ConnectorOf): Promise<boolean>
  /** In the place of an earlier one of the connector; undefined when the connector was changed since. */
  begin(
    input: ConnectorOf & { stateHash: string; sealed: string; lifeMs: number; ifUpdatedAt: EpochMs },
  ): Promise<{ expiresAt: EpochMs } | undefined>
  /** A pending sign-in, also one whose time is over. */
  find(stateHash: string): Promise<SignInRecord | undefined>
  /** Ends a pending sign-in, once, and reads its connector; undefined when it is gone, or its time is over. */
  take(stateHash: string): Promise<ConnectorRecord | undefined>
  /** Keeps what a sign-in gave; false, and nothing is kept, when the connector was changed since. */
  keep(input: ConnectorOf & Tokens & { issuer: string; ifUpdatedAt: EpochMs }): Promise<boolean>
  /** Says why a sign-in failed, of a connector that needs one. */
  noteFailure(input: ConnectorOf & { message: string }): Promise<void>
  /** True for one of all that ask while these tokens are the newest, until it has renewed them or the time is over. */
  claim(input: VersionOf & { forMs: number }): Promise<boolean>
  /** Keeps the tokens that those of this version were exchanged for; undefined when these are not the newest any more. */
  renew(input: VersionOf & Tokens): Promise<GrantRecord | undefined>
  /** Gives a claim up: the exchange did not come about. */
  release(input: VersionOf): Promise<void>
  /**
   * The connector needs a sign-in from now on. With `sealed` its client is kept, else nothing. False when the tokens are
   * of another version than was given, or there are none.
   */
  end(input: ConnectorOf & { version: number | null; sealed: string | null; message: string | null }): Promise<boolean>
  /** Grants of all users, in order of their connectors' ids, after `afterId`. */
  sealed(input: { afterId: string; limit: number }): Promise<GrantRecord[]>
  /** Replaces the encrypted tokens by the same under another key, unless they were renewed meanwhile. */
  reseal(input: { connectorId: string; from: string; to: string }): Promise<boolean>
}
