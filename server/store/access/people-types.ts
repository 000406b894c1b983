import type { Page } from '../list-place.ts'
import type { LinkMail } from '../mails/mail-types.ts'
import type { UserRecord, AccountRecord } from '../accounts/account-types.ts'
import type { EpochMs } from '../../kernel/clock.ts'
import type { Units } from '../../kernel/money.ts'
import type { AccountLimits, AccountPlan } from '../limits/account-limits.ts'

export const loginMethods = ['password', 'oidc', 'invitation'] as const
export type LoginMethod = (typeof loginMethods)[number]

export type LoginRecord = {
  id: string
  userId: string
  method: LoginMethod
  /** Id of the OpenID Connect provider used to log in; null for a password login. */
  provider: string | null
  userAgent: string | null
  createdAt: EpochMs
  lastUsedAt: EpochMs
  expiresAt: EpochMs
}

/** User data that every authenticated request needs. */
export type Holder = { email: string; isAdmin: boolean; suspendedAt: EpochMs | null; account: AccountPlan }

/** Data needed on every request to check a login's cookie. */
export type LoginHolder = Pick<LoginRecord, 'id' | 'userId' | 'lastUsedAt' | 'expiresAt'> & Holder

export const invitationKinds = ['invitation', 'password'] as const
export type InvitationKind = (typeof invitationKinds)[number]

/** A link that creates an account or, if its kind is `password`, sets an existing user's password. */
export type InvitationRecord = {
  id: string
  kind: InvitationKind
  email: string
  isAdmin: boolean
  /** Starting credit of the new account. */
  credit: Units
  createdAt: EpochMs
  expiresAt: EpochMs
  acceptedAt: EpochMs | null
}

// Inputs and results of the store port for users, their browser logins and invitations.

/** A login expires this long after it was created. */
export const loginLifeMs = 30 * 86_400_000
/** A login ends after this long without use. */
export const loginIdleMs = 7 * 86_400_000

/** Max browser logins per user. A further login ends the least recently used one. */
export const loginsMax = 100

/** If `email` is null, the user gets a placeholder address, which receives no mail and cannot be used to log in. */
export type CreateUser = {
  email: string | null
  passwordHash: string | null
  isAdmin: boolean
  externalId?: string
}

export type CreateUserResult = { outcome: 'created'; userId: string } | { outcome: 'refused'; reason: 'email-taken' }

/** `search` matches part of the email address or of the external id. */
export type ListUsers = Page & { search?: string; withoutAdmins?: boolean }
/** `writtenOff`: total cost of the user's chats beyond the balance, caps and spending limits, over all time. */
export type UserAccount = UserRecord &
  AccountRecord & { writtenOff: Units; plan: string | null; limits: Partial<AccountLimits> }
/** With `withoutAdmins` an admin is treated as an unknown user. */
export type UpdateUser = { userId: string; isSuspended?: boolean; isAdmin?: boolean; withoutAdmins?: boolean }
export type UpdateUserResult = { outcome: 'updated' } | { outcome: 'refused'; reason: 'unknown' | 'last-admin' }

export type SetPassword = {
  userId: string
  passwordHash: string
  /** Hash of the password being replaced. Rejected if the password has changed since. */
  from: string | null
  /** Id of the login to keep; all others end. Null ends all. */
  keepLoginId: string | null
  /**
   * Login attempts to forget: those for this email from this client. If omitted, the user's attempts from all clients.
   */
  forget?: AdmitLogin
}

/** A password login attempt. Counted before the password is checked, so that parallel attempts count too. */
export type AdmitLogin = {
  email: string
  /** The client's IP address, truncated to the part that distinguishes clients. */
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
  /** Login attempts to forget: those for this email from this client. If null, the user's attempts from all clients. */
  forget: AdmitLogin | null
  /** Hash that the password was checked against. The login is rejected if the password has changed since. */
  ifPasswordHash?: string
}

/** A person's identity, asserted by an OpenID Connect provider. `email` is null unless the provider verified it. */
export type OpenIdentity = {
  issuer: string
  subject: string
  email: string | null
  /** Whether to create an account if the person has none. */
  mayCreate: boolean
}
export type OpenIdentityResult =
  | { outcome: 'known' | 'linked' | 'created'; userId: string }
  | { outcome: 'refused'; reason: 'unverified' | 'no-account' | 'linked-otherwise' | 'suspended' }

export type CreateInvitation = Pick<InvitationRecord, 'kind' | 'email' | 'isAdmin' | 'credit' | 'expiresAt'> & {
  tokenHash: string
  userId: string | null
  createdBy: string
  /** Set if the link is also mailed. */
  mail?: LinkMail | undefined
}
/** Request of an unauthenticated client for a password link. Counted like a login attempt. */
export type RequestPasswordLink = AdmitLogin & Pick<CreateInvitation, 'expiresAt' | 'tokenHash'> & { mail: LinkMail }
export type RequestPasswordLinkResult =
  /** `userId` is null if no link was mailed. */
  { outcome: 'admitted'; userId: string | null } | { outcome: 'refused'; until: EpochMs }
export type CreateInvitationResult =
  | { outcome: 'created'; invitation: InvitationRecord }
  | { outcome: 'refused'; reason: 'email-taken' }
export type AcceptInvitationResult =
  | { outcome: 'accepted'; userId: string; kind: InvitationKind }
  | { outcome: 'refused'; reason: 'unknown' | 'email-taken' | 'suspended' }
