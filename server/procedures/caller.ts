import { ErrandError } from '../kernel/errors.ts'
import type { CredentialLimits } from '../store/execution-limits.ts'
import type { PlatformScope } from '../store/platform/platform-records.ts'
import type { AccountPlan } from '../store/limits/account-limits.ts'
import type { Scope } from '../store/records.ts'

/** User that a request acts for, and what it may do. One of the ids shows the credential. */
export type Caller = {
  userId: string
  email: string
  isAdmin: boolean
  scopes: readonly Scope[]
  account: AccountPlan
  keyId: string | null
  loginId: string | null
  /** Limits of the credential, if it allows less than its user may do. */
  limits: CredentialLimits | null
  /** Ids of the only agents whose runs the credential may start and change; null for all. */
  agents: readonly string[] | null
  /**
   * Set for a platform key, which is not a user. If it acts for no user, `userId` is the key's own id and `scopes` is
   * empty.
   */
  platform: PlatformAccess | null
  /** Set for a client token, which reaches only what is open to it. */
  token: TokenAccess | null
}

export type PlatformAccess = {
  keyId: string
  scopes: readonly PlatformScope[]
  /** Whether this request acts as the user that Errand-User names. */
  isActing: boolean
}

/** A token bound to a session or a task reaches nothing else. */
export type TokenAccess = { tokenId: string; sessionId: string | null; taskId: string | null }

/** Fields of a user's own key or login, as opposed to a platform key or a client token. */
export const ownCredential = {
  account: { plan: null, limits: null },
  limits: null,
  agents: null,
  platform: null,
  token: null,
}

export function requireAgent({ agents }: Pick<Caller, 'agents'>, agentId: string): void {
  if (agents === null || agents.includes(agentId)) return
  throw new ErrandError('FORBIDDEN', `This credential does not allow the agent ${agentId}. Use one that does.`)
}

export function requireScope(caller: Caller, ...scopes: Scope[]): void {
  if (scopes.some((scope) => caller.scopes.includes(scope))) return
  const needed = scopes.map((scope) => `"${scope}"`).join(' or ')
  if (caller.platform && !caller.platform.isActing) {
    const message = `This platform key does not have the scope ${needed}. To act on behalf of a user, it needs the scope "act" and the header Errand-User.`
    throw new ErrandError('FORBIDDEN', message)
  }
  throw new ErrandError(
    'FORBIDDEN',
    `${nameOf(caller)} has no permission for this operation: it lacks the scope ${needed}.`,
  )
}

function nameOf({ platform, token }: Caller): string {
  return platform ? 'A platform key acting on behalf of a user' : token ? 'This client token' : 'This API key'
}

/** Throws 403 unless an admin is logged in with a browser: a leaked key must not reach other people's accounts. */
export function requireAdmin({ isAdmin, loginId }: Caller): void {
  if (loginId === null) throw new ErrandError('FORBIDDEN', 'This operation requires an admin with a browser login.')
  if (!isAdmin) throw new ErrandError('FORBIDDEN', 'This operation is for admins.')
}

/** Throws 403 unless an admin is logged in with a browser, or a platform key has that scope. */
export function requirePlatform(caller: Caller, scope: PlatformScope): void {
  const { platform } = caller
  if (!platform) return requireAdmin(caller)
  if (platform.isActing) {
    throw new ErrandError(
      'FORBIDDEN',
      'Omit the header Errand-User: the platform key performs this operation itself, not on behalf of a user.',
    )
  }
  if (platform.scopes.includes(scope)) return
  throw new ErrandError(
    'FORBIDDEN',
    `This platform key has no permission for this operation: it lacks the scope "${scope}".`,
  )
}

/** Log fields for the author of a change to another person's account. */
export function actorOf({ platform, userId }: Caller) {
  return platform
    ? { who: 'a platform key', ids: { platformKeyId: platform.keyId } }
    : { who: 'an admin', ids: { adminId: userId } }
}
