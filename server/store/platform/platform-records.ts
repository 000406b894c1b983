import type { EpochMs } from '../../kernel/clock.ts'
import type { Units } from '../../kernel/money.ts'
import type { CredentialLimits } from '../execution-limits.ts'
import type { Holder, Page, Scope } from '../records.ts'

// What the store keeps and answers for products that are built on the service: their keys, their users, and the tokens
// that they hand to browsers.

/**
 * What a platform key may do: make, read and suspend users and end their keys; credit them; set their limits; act for
 * them.
 */
export const platformScopes = ['users', 'credit', 'limits', 'act'] as const
export type PlatformScope = (typeof platformScopes)[number]

export type PlatformKeyRecord = {
  id: string
  name: string
  hint: string
  scopes: PlatformScope[]
  /** Addresses and networks that it is accepted from; null for all. */
  addresses: string[] | null
  /** Ceiling of what it credits on a day of UTC, and of what it takes back; null without one. */
  creditPerDay: Units | null
  creditedToday: Units
  takenToday: Units
  /** Id of the admin; null for the command line. */
  createdBy: string | null
  createdAt: EpochMs
  expiresAt: EpochMs | null
  revokedAt: EpochMs | null
  lastUsedAt: EpochMs | null
}

/** What a platform key is checked against on every request. */
export type PlatformKeyHolder = Pick<PlatformKeyRecord, 'id' | 'scopes' | 'addresses' | 'expiresAt' | 'revokedAt'>

export type CreatePlatformKey = Pick<
  PlatformKeyRecord,
  'name' | 'hint' | 'scopes' | 'addresses' | 'creditPerDay' | 'createdBy' | 'expiresAt'
> & { tokenHash: string }

/** A user by the id of the service, or by that of the product. */
export type UserRef = { userId: string } | { externalId: string }

export type ActingUser = { id: string } & Holder

export type ExternalUser = {
  externalId: string
  email: string | null
  /** The platform key that makes it; null for an admin. */
  keyId: string | null
}
export type ExternalUserResult =
  | { outcome: 'found' | 'created'; userId: string }
  | { outcome: 'refused'; reason: 'email-taken' }

export type ClientTokenRecord = {
  id: string
  userId: string
  scopes: Scope[]
  agents: string[] | null
  sessionId: string | null
  taskId: string | null
  maxCost: Units | null
  isOnce: boolean
  /** Id of the key, login or platform key that made it. */
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
 * What a client token is checked against on every request. It ends with what made it, at `makerEndsAt`, and a key that
 * made it limits it as it limits itself; `agents` are those that both reach.
 */
export type ClientTokenHolder = Omit<ClientTokenRecord, 'createdAt'> & {
  makerEndsAt: EpochMs
  makerLimits: CredentialLimits | null
} & Holder

export type PlatformStore = {
  /** Throws CONFLICT when there are as many that work as are allowed. */
  createKey(input: CreatePlatformKey): Promise<PlatformKeyRecord>
  /** By the SHA-256 of the token, in hex. Never older than the last commit of any process. */
  findKey(tokenHash: string): Promise<PlatformKeyHolder | undefined>
  getKey(keyId: string): Promise<PlatformKeyRecord | undefined>
  /** Newest first. */
  listKeys(input: Page): Promise<{ keys: PlatformKeyRecord[]; total: number }>
  /** False when it is unknown or revoked. */
  revokeKey(keyId: string): Promise<boolean>
  /** Records when keys were last used; losing a batch loses nothing but that. */
  touchKeys(uses: readonly { keyId: string; at: EpochMs }[]): Promise<void>

  /**
   * The one user with that external id, made with an empty account where there is none. Throws CONFLICT when the key has
   * made as many as are allowed.
   */
  openUser(input: ExternalUser): Promise<ExternalUserResult>
  findUser(of: UserRef): Promise<ActingUser | undefined>

  /** Throws CONFLICT when the user has as many that work as are allowed. */
  createToken(input: CreateClientToken): Promise<ClientTokenRecord>
  /** By the SHA-256 of the token, in hex. Never older than the last commit of any process. */
  findToken(tokenHash: string): Promise<ClientTokenHolder | undefined>
  /** Undefined when it is unknown; one that was revoked stays as it is. */
  revokeToken(of: { userId: string; tokenId: string }): Promise<ClientTokenRecord | undefined>
}
