import type { EpochMs } from '../../kernel/clock.ts'
import type { KeyLimits } from '../limits/limit-types.ts'
import type { CredentialLimits } from '../limits/execution-limits.ts'
import type { Holder } from './people-types.ts'

export const scopes = ['read', 'execute', 'manage'] as const
export type Scope = (typeof scopes)[number]
/** Scopes of a caller: those of API keys, and `pay`, which only client tokens and acting platform keys can have. */
export type CallerScope = Scope | 'pay'

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
  /** Whether a rotation has replaced this key. */
  isReplaced: boolean
  /** Id under which the key's spend is counted: that of the first key in its rotation chain. */
  countsAs: string
} & KeyLimits

/** Data needed on every request to check a key. */
export type KeyHolder = Pick<KeyRecord, 'id' | 'userId' | 'scopes' | 'expiresAt' | 'revokedAt' | 'agents'> &
  Holder & { limits: CredentialLimits | null }
