import type { EpochMs } from '../kernel/clock.ts'
import type { Units } from '../kernel/money.ts'
import type { AccountLimits } from './limits/account-limits.ts'
import type { AccountRecord, InvitationKind, InvitationRecord, LoginMethod, Page, UserRecord } from './records.ts'

// What the store port takes and gives for users, their browser logins and invitations.

/** Logins end this long after they began, and when they were not used for that long. */
export const loginLifeMs = 30 * 86_400_000
export const loginIdleMs = 7 * 86_400_000

/** A user has this many browser logins; a further one ends the one that was used longest ago. */
export const loginsMax = 100

/** Without an address the user gets one that no mail reaches and nobody can log in with. */
export type CreateUser = {
  email: string | null
  passwordHash: string | null
  isAdmin: boolean
  externalId?: string
}

export type CreateUserResult = { outcome: 'created'; userId: string } | { outcome: 'refused'; reason: 'email-taken' }

/** `search` finds a part of the email address or of the external id. */
export type ListUsers = Page & { search?: string; withoutAdmins?: boolean }
/** `writtenOff` is what the user's chats cost beyond the balance, ever. */
export type UserAccount = UserRecord &
  AccountRecord & { writtenOff: Units; plan: string | null; limits: Partial<AccountLimits> }
/** With `withoutAdmins` an admin is as unknown as nobody. */
export type UpdateUser = { userId: string; isSuspended?: boolean; isAdmin?: boolean; withoutAdmins?: boolean }
export type UpdateUserResult = { outcome: 'updated' } | { outcome: 'refused'; reason: 'unknown' | 'last-admin' }

export type SetPassword = {
  userId: string
  passwordHash: string
  /** The hash that it takes the place of; refused when that was changed meanwhile. */
  from: string | null
  /** The one login that stays. */
  keepLoginId: string | null
  /** The tries of this address from this client are forgotten; without it those of every client. */
  forget?: AdmitLogin
}

/** A try to log in with a password, counted before the password is looked at, so that parallel tries count too. */
export type AdmitLogin = {
  email: string
  /** The client's address, as far as it tells clients apart. */
  client: string | null
}
export type LoginCandidate = Pick<UserRecord, 'id' | 'email' | 'suspendedAt'> & { passwordHash: string | null }
export type AdmitLoginResult =
  | { outcome: 'admitted'; user: LoginCandidate | undefined }
  | { outcome: 'refused'; until: EpochMs }

export type CreateLogin = {
  userId: string
  tokenHash: string
  method: LoginMethod
  provider: string | null
  userAgent: string | null
  /** The tries of this address from this client are forgotten. */
  forget: AdmitLogin | null
  /** Refused when the user's password is another one by now. */
  ifPasswordHash?: string
}

/** A person as an OpenID Connect provider vouches for. `email` is null unless the provider verified it. */
export type OpenIdentity = {
  issuer: string
  subject: string
  email: string | null
  /** Whether a person without an account gets one. */
  mayCreate: boolean
}
export type OpenIdentityResult =
  | { outcome: 'known' | 'linked' | 'created'; userId: string }
  | { outcome: 'refused'; reason: 'unverified' | 'no-account' | 'linked-otherwise' | 'suspended' }

export type CreateInvitation = Pick<InvitationRecord, 'kind' | 'email' | 'isAdmin' | 'credit' | 'expiresAt'> & {
  tokenHash: string
  userId: string | null
  createdBy: string
}
export type CreateInvitationResult =
  | { outcome: 'created'; invitation: InvitationRecord }
  | { outcome: 'refused'; reason: 'email-taken' }
export type AcceptInvitationResult =
  | { outcome: 'accepted'; userId: string; kind: InvitationKind }
  | { outcome: 'refused'; reason: 'unknown' | 'email-taken' | 'suspended' }
