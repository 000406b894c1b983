import type { Scope } from '../access/key-types.ts'
import type { Page } from '../list-place.ts'
import type { Holder } from '../access/people-types.ts'
import type { EpochMs } from '../../kernel/clock.ts'
import type { Units } from '../../kernel/money.ts'
import type { CredentialLimits } from '../limits/execution-limits.ts'

/**
 * `users` creates, reads and suspends users and revokes their keys. `credit` changes balances. `limits` sets a user's
 * plan, and limits up to the plan's. `act` acts on behalf of users. Together with `act`, `pay` starts top-ups and
 * changes auto-recharge, and `connectors` changes connectors. `webhooks` receives events, and `economics` reads the
 * operator's totals.
 */
export const platformScopes = [
  'users',
  'credit',
  'limits',
  'act',
  'pay',
  'connectors',
  'webhooks',
  'economics',
] as const
export type PlatformScope = (typeof platformScopes)[number]

export type PlatformKeyRecord = {
  id: string
  name: string
  hint: string
  scopes: PlatformScope[]
  /** IP addresses and networks that may use the key. Null means all. */
  addresses: string[] | null
  /** Maximum total credited per UTC day, and also the maximum total debited. Null means no maximum. */
  creditPerDay: Units | null
  creditedToday: Units
  takenToday: Units
  usersMade: number
  /** Id of the admin who created the key, or null for the command line. */
  createdBy: string | null
  createdAt: EpochMs
  expiresAt: EpochMs | null
  revokedAt: EpochMs | null
  lastUsedAt: EpochMs | null
  /** The last client addresses, newest first. */
  lastAddresses: AddressUse[]
}

export type AddressUse = { address: string; at: EpochMs }
export const lastAddressesMax = 10

export type TouchPlatformKey = { keyId: string; at: EpochMs; addresses: readonly AddressUse[] }

/** Amounts that a key credited and debited on a UTC day. `day` counts days since the epoch. */
export type CreditDay = { day: number; credited: Units; taken: Units }

/** Fields of a platform key that are checked on every request. */
export type PlatformKeyHolder = Pick<PlatformKeyRecord, 'id' | 'scopes' | 'addresses' | 'expiresAt' | 'revokedAt'>

export type CreatePlatformKey = Pick<
  PlatformKeyRecord,
  'name' | 'hint' | 'scopes' | 'addresses' | 'creditPerDay' | 'createdBy' | 'expiresAt'
> & { tokenHash: string }

/** A user, identified by the service's id or by the product's id. */
export type UserRef = { userId: string } | { externalId: string }

export type ActingUser = { id: string } & Holder

export type ExternalUser = {
  externalId: string
  email: string | null
  keyId: string | null
}
export type ExternalUserResult =
  | { outcome: 'found' | 'created'; userId: string }
  | { outcome: 'refused'; reason: 'email-taken' }

export type TokenScope = Exclude<Scope, 'manage'> | 'pay'

export type ClientTokenRecord = {
  id: string
  userId: string
  scopes: TokenScope[]
  agents: string[] | null
  sessionId: string | null
  taskId: string | null
  maxCost: Units | null
  isOnce: boolean
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
 * Fields of a client token that are checked on every request. The token becomes invalid when its creator does, at
 * `makerEndsAt`. If a key created the token, the key's limits apply too, and `agents` contains only agents that both
 * allow.
 */
export type ClientTokenHolder = Omit<ClientTokenRecord, 'createdAt'> & {
  makerEndsAt: EpochMs
  makerLimits: CredentialLimits | null
} & Holder

export type PlatformStore = {
  createKey(input: CreatePlatformKey): Promise<PlatformKeyRecord>
  findKey(tokenHash: string): Promise<PlatformKeyHolder | undefined>
  getKey(keyId: string): Promise<PlatformKeyRecord | undefined>
  listKeys(input: Page): Promise<{ keys: PlatformKeyRecord[]; total: number }>
  readCreditDays(of: { keyId: string; days: number }): Promise<CreditDay[]>
  /** Returns false if the key does not exist or is already revoked. */
  revokeKey(keyId: string): Promise<boolean>
  /** Records when keys were last used. If a batch is lost, only these times are missing. */
  touchKeys(uses: readonly TouchPlatformKey[]): Promise<void>

  /**
   * Returns the user with this external id, or creates one with an empty account. Throws CONFLICT if the key has
   * created the maximum number of users.
   */
  openUser(input: ExternalUser): Promise<ExternalUserResult>
  findUser(of: UserRef): Promise<ActingUser | undefined>

  createToken(input: CreateClientToken): Promise<ClientTokenRecord>
  findToken(tokenHash: string): Promise<ClientTokenHolder | undefined>
  /** Returns a user's active tokens, newest first. A token whose creator has expired or been revoked is not active. */
  listTokens(of: Page & { userId: string }): Promise<{ tokens: ClientTokenRecord[]; total: number }>
  /** Returns the newest active tokens that a platform key has created for any user, and their total number. */
  listKeyTokens(of: { keyId: string; limit: number }): Promise<{ tokens: ClientTokenRecord[]; total: number }>
  /** Returns undefined if the token does not exist. Revoking a token again changes nothing. */
  revokeToken(of: { userId: string; tokenId: string }): Promise<ClientTokenRecord | undefined>
  /** Revokes a token that a platform key has created for any user. */
  revokeKeyToken(of: { keyId: string; tokenId: string }): Promise<ClientTokenRecord | undefined>
}
