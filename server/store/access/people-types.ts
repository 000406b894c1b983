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
  /** Id of the OpenID Connect provider, or null for a password login. */
  provider: string | null
  userAgent: string | null
  createdAt: EpochMs
  lastUsedAt: EpochMs
  expiresAt: EpochMs
}

export type Holder = { email: string; isAdmin: boolean; suspendedAt: EpochMs | null; account: AccountPlan }

/** Fields of a login that are checked on every request. */
export type LoginHolder = Pick<LoginRecord, 'id' | 'userId' | 'lastUsedAt' | 'expiresAt'> & Holder

export const invitationKinds = ['invitation', 'sign-up', 'password'] as const
export type InvitationKind = (typeof invitationKinds)[number]

/**
 * A link that creates an account or, if its kind is `password`, sets the password of an existing user. Admins create
 * links of the kind `invitation`, and visitors request those of the kind `sign-up`.
 */
export type InvitationRecord = {
  id: string
  kind: InvitationKind
  email: string
  isAdmin: boolean
  credit: Units
  createdAt: EpochMs
  expiresAt: EpochMs
  acceptedAt: EpochMs | null
}

/** Maximum lifetime of a login, even if it is in use. */
export const loginLifeMs = 30 * 86_400_000
/** A login ends after this long without use. */
export const loginIdleMs = 7 * 86_400_000

/** Maximum number of logins per user. The next login ends the least recently used one. */
export const loginsMax = 100

/** If `email` is null, the user gets a placeholder address, which receives no mail and cannot be used to log in. */
export type CreateUser = {
  email: string | null
  passwordHash: string | null
  isAdmin: boolean
  externalId?: string
  plan?: string | null
}

export type CreateUserResult = { outcome: 'created'; userId: string } | { outcome: 'refused'; reason: 'email-taken' }

/** `created` lists the oldest users first, `spent` the top spenders, and `active` the most recently active users. */
export const userOrders = ['created', 'spent', 'active'] as const
export type UserOrder = (typeof userOrders)[number]
/**
 * If `isDefaultPlan` is set, users without a plan are included. `spentSince` is the first UTC day that `spent` covers,
 * counted from 1970-01-01.
 */
export type ListUsers = Page & {
  search?: string
  plan?: string
  isDefaultPlan?: boolean
  withoutAdmins?: boolean
  order?: UserOrder
  spentSince?: number
}
/**
 * `writtenOff` is the total chat cost that was not charged because it exceeded the balance, caps or spending limits.
 */
export type UserAccount = UserRecord &
  AccountRecord & { writtenOff: Units; plan: string | null; limits: Partial<AccountLimits> }
/** `activeDay` is the last UTC day on which a task or turn ended. Days are counted from 1970-01-01. */
export type ListedUser = UserAccount & { spent: Units; activeDay: number | null }
/** If `withoutAdmins` is set, admins are treated as unknown users. */
export type UpdateUser = { userId: string; isSuspended?: boolean; isAdmin?: boolean; withoutAdmins?: boolean }
export type UpdateUserResult =
  | { outcome: 'updated' }
  | { outcome: 'refused'; reason: 'unknown' | 'last-admin' | 'erased' }

export type SetPassword = {
  userId: string
  passwordHash: string
  /** Expected hash of the current password. The update is rejected if the hash differs. */
  from: string | null
  /** The only login to keep, or null to end all of them. */
  keepLoginId: string | null
  /**
   * Deletes the login attempts for this email address and client. If omitted, deletes all attempts for the user's
   * address.
   */
  forget?: AdmitLogin
}

/** A password login attempt. It is counted before the password is checked, so that concurrent attempts count too. */
export type AdmitLogin = {
  email: string
  /** The client's IP address, or its network for IPv6. */
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
  /**
   * Deletes the login attempts for this email address and client. If null, deletes all attempts for the user's address.
   */
  forget: AdmitLogin | null
  /** The password hash that was checked. The login is rejected if the hash has since changed. */
  ifPasswordHash?: string
}

/** A person's identity at an OpenID Connect provider. `email` is null unless the provider has verified it. */
export type OpenIdentity = {
  issuer: string
  subject: string
  email: string | null
  mayCreate: boolean
  newcomer?: Newcomer
}
export type OpenIdentityResult =
  | { outcome: 'known' | 'linked'; userId: string }
  | { outcome: 'created'; userId: string; credit?: Units }
  | { outcome: 'refused'; reason: 'unverified' | 'no-account' | 'linked-otherwise' | 'suspended' }

export type CreateInvitation = Pick<InvitationRecord, 'kind' | 'email' | 'isAdmin' | 'credit' | 'expiresAt'> & {
  tokenHash: string
  userId: string | null
  createdBy: string | null
  mail?: LinkMail | undefined
}
/** An unauthenticated request for a password link. It counts as a login attempt. */
export type RequestPasswordLink = AdmitLogin & Pick<CreateInvitation, 'expiresAt' | 'tokenHash'> & { mail: LinkMail }
export type RequestPasswordLinkResult =
  | { outcome: 'admitted'; userId: string | null }
  | { outcome: 'refused'; until: EpochMs }
/**
 * An unauthenticated request for a sign-up link. `perDayMax` limits the requests of all clients per UTC day. 0 means no
 * limit.
 */
export type RequestSignUp = RequestPasswordLink & { perDayMax: number }
export type RequestSignUpResult = { outcome: 'admitted' } | { outcome: 'refused'; until: EpochMs }
/** Plan and trial credit of a new account. The credit is posted only once per verified identity. */
export type Newcomer = { plan: string | null; credit: Units }
export type AcceptInvitation = {
  tokenHash: string
  passwordHash: string
  newcomer?: Newcomer
}
export type CreateInvitationResult =
  | { outcome: 'created'; invitation: InvitationRecord }
  | { outcome: 'refused'; reason: 'email-taken' }
export type AcceptInvitationResult =
  /** `credit` is the trial credit of a new account. */
  | { outcome: 'accepted'; userId: string; kind: InvitationKind; credit?: Units }
  | { outcome: 'refused'; reason: 'unknown' | 'email-taken' | 'suspended' }
