import type { CallerScope } from '../access/key-types.ts'
import type { Page } from '../list-place.ts'
import type { Holder } from '../access/people-types.ts'
import type { EpochMs } from '../../kernel/clock.ts'
import type { Units } from '../../kernel/money.ts'
import type { CredentialLimits } from '../limits/execution-limits.ts'

// Records, inputs and results for products built on the service: their keys, their users, and the tokens they issue to
// browsers.

/**
 * Scopes of a platform key: `users` to create, read and suspend users and revoke their keys; `credit` to credit them;
 * `limits` to set their limits; `act` to act on their behalf; `pay` to also start top-ups for them; `webhooks` to receive
 * their events; `economics` to read the operator's totals.
 */
export const platformScopes = ['users', 'credit', 'limits', 'act', 'pay', 'webhooks', 'economics'] as const
export type PlatformScope = (typeof platformScopes)[number]

export type PlatformKeyRecord = {
  id: string
  name: string
  hint: string
  scopes: PlatformScope[]
  /** Addresses and networks from which the key is accepted; null for all. */
  addresses: string[] | null
  /**
   * Max amount that the key credits per UTC day, and max amount that it takes back per UTC day; null without a ceiling.
   */
  creditPerDay: Units | null
  creditedToday: Units
  takenToday: Units
  /** Id of the admin who created the key; null for the command line. */
  createdBy: string | null
  createdAt: EpochMs
  expiresAt: EpochMs | null
  revokedAt: EpochMs | null
  lastUsedAt: EpochMs | null
}

/** Data needed on every request to check a platform key. */
export type PlatformKeyHolder = Pick<PlatformKeyRecord, 'id' | 'scopes' | 'addresses' | 'expiresAt' | 'revokedAt'>

export type CreatePlatformKey = Pick<
  PlatformKeyRecord,
  'name' | 'hint' | 'scopes' | 'addresses' | 'creditPerDay' | 'createdBy' | 'expiresAt'
> & { tokenHash: string }

/** A user, by the service's id or by the product's id. */
export type UserRef = { userId: string } | { externalId: string }

export type ActingUser = { id: string } & Holder

export type ExternalUser = {
  externalId: string
  email: string | null
  /** The platform key that creates the user; null if an admin does. */
  keyId: string | null
}
export type ExternalUserResult =
  | { outcome: 'found' | 'created'; userId: string }
  | { outcome: 'refused'; reason: 'email-taken' }

export type ClientTokenRecord = {
  id: string
  userId: string
  scopes: CallerScope[]
  agents: string[] | null
  sessionId: string | null
  taskId: string | null
  maxCost: Units | null
  isOnce: boolean
  /** Id of the key, login or platform key that created the token. */
  createdBy: string
  createdAt: EpochMs
  expiresAt: EpochMs
  revokedAt: EpochMs | null
}

export type CreateClientToken = Omit<ClientTokenRecord, 'id' | 'createdAt' | 'expiresAt' | 'revokedAt'> & {
  tokenHash: string
  lifeMs: number
}

/**
 * Data needed on every request to check a client token. The token ends with its creator, at `makerEndsAt`. If a key
 * created the token, the key's limits apply too, and `agents` lists the agents that both may use.
 */
export type ClientTokenHolder = Omit<ClientTokenRecord, 'createdAt'> & {
  makerEndsAt: EpochMs
  makerLimits: CredentialLimits | null
} & Holder

export type PlatformStore = {
  /** Throws CONFLICT if the maximum number of keys already exists. */
  createKey(input: CreatePlatformKey): Promise<PlatformKeyRecord>
  /** Finds a key by the SHA-256 of its token, in hex. Always reflects the last commit of any process. */
  findKey(tokenHash: string): Promise<PlatformKeyHolder | undefined>
  getKey(keyId: string): Promise<PlatformKeyRecord | undefined>
  /** Newest first. */
  listKeys(input: Page): Promise<{ keys: PlatformKeyRecord[]; total: number }>
  /** Returns false if the key is unknown or already revoked. */
  revokeKey(keyId: string): Promise<boolean>
  /** Records when keys were last used. If a batch is lost, only these times are missing. */
  touchKeys(uses: readonly { keyId: string; at: EpochMs }[]): Promise<void>

  /**
   * Returns the user with that external id, or creates one with an empty account. Throws CONFLICT if the key has
   * created the maximum number of users.
   */
  openUser(input: ExternalUser): Promise<ExternalUserResult>
  findUser(of: UserRef): Promise<ActingUser | undefined>

  /** Throws CONFLICT if the user has the maximum number of active tokens. */
  createToken(input: CreateClientToken): Promise<ClientTokenRecord>
  /** Finds a token by its SHA-256 in hex. Always reflects the last commit of any process. */
  findToken(tokenHash: string): Promise<ClientTokenHolder | undefined>
  /** Lists the active tokens of a user, newest first. Tokens whose creator has ended are not active. */
  listTokens(of: Page & { userId: string }): Promise<{ tokens: ClientTokenRecord[]; total: number }>
  /** Undefined if the token is unknown. A revoked token stays unchanged. */
  revokeToken(of: { userId: string; tokenId: string }): Promise<ClientTokenRecord | undefined>
}
