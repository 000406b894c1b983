import type { EpochMs } from '../../kernel/clock.ts'
import type { KeyLimits } from '../limits/limit-types.ts'
import type { CredentialLimits } from '../limits/execution-limits.ts'
import type { Holder } from './people-types.ts'

export const scopes = ['read', 'execute', 'manage'] as const
export type Scope = (typeof scopes)[number]
/**
 * Scopes of a caller. Only client tokens and platform keys that act for a user can have `pay`. Only platform keys that
 * act for a user can have `connectors`.
 */
export type CallerScope = Scope | 'pay' | 'connectors'

export type KeyRecord = {
  id: string
  userId: string
  name: string
  hint: string
  scopes: Scope[]
  createdAt: EpochMs
  expiresAt: EpochMs | null
  revokedAt: EpochMs | null
  lastUsedAt: EpochMs | null
  /** Id of the key that replaced this one in a rotation. */
  replacedBy: string | null
  /** Id of the first key in this key's rotation chain. Spend is counted under this id for the whole chain. */
  countsAs: string
} & KeyLimits

/** Fields of a key that are checked on every request. */
export type KeyHolder = Pick<KeyRecord, 'id' | 'userId' | 'scopes' | 'expiresAt' | 'revokedAt' | 'agents'> &
  Holder & { limits: CredentialLimits | null }
