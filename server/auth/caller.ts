import { ErrandError } from '../kernel/errors.ts'
import type { CredentialLimits } from '../store/execution-limits.ts'
import type { PlatformScope } from '../store/platform/platform-records.ts'
import type { AccountPlan } from '../store/limits/account-limits.ts'
import type { Scope } from '../store/records.ts'

/** Who a request acts for, and what it may do. One of the ids says by which credential. */
export type Caller = {
  userId: string
  email: string
  isAdmin: boolean
  scopes: readonly Scope[]
  account: AccountPlan
  keyId: string | null
  loginId: string | null
  /** What the credential allows, where that is less than what its user may do. */
  limits: CredentialLimits | null
  /** Ids of the only agents whose runs the credential starts and changes; null for all. */
  agents: readonly string[] | null
  /** Of a platform key, which is no user: without a user to act for, `userId` is the key's own id, and `scopes` is empty. */
  platform: PlatformAccess | null
  /** Of a client token, which reaches only what is opened to it. */
  token: TokenAccess | null
}

export type PlatformAccess = {
  keyId: string
  scopes: readonly PlatformScope[]
  /** Whether it is, for this request, the user whom Errand-User names. */
  isActing: boolean
}

/** With a session or a task it reaches nothing else. */
export type TokenAccess = { tokenId: string; sessionId: string | null; taskId: string | null }

/** A user's own key or login, which is neither a platform's nor a browser's. */
export const ownCredential = {
  account: { plan: null, limits: null },
  limits: null,
  agents: null,
  platform: null,
  token: null,
}

/** Throws 403 when the credential is for other agents. */
export function requireAgent({ agents }: Pick<Caller, 'agents'>, agentId: string): void {
  if (agents === null || agents.includes(agentId)) return
  throw new ErrandError('FORBIDDEN', `This credential is not for the agent ${agentId}; use one that is.`)
}

/** Throws 403 when the credential carries none of these scopes. */
export function requireScope(caller: Caller, ...scopes: Scope[]): void {
  if (scopes.some((scope) => caller.scopes.includes(scope))) return
  const needed = scopes.map((scope) => `"${scope}"`).join(' or ')
  if (caller.platform && !caller.platform.isActing) {
    const message = `A platform key has not the scope ${needed} of its own; with the scope "act" it acts for the user whom the header Errand-User names.`
    throw new ErrandError('FORBIDDEN', message)
  }
  throw new ErrandError(
    'FORBIDDEN',
    `${nameOf(caller)} has no permission for this operation: it lacks the scope ${needed}.`,
  )
}

function nameOf({ platform, token }: Caller): string {
  return platform ? 'A platform key that acts for a user' : token ? 'This client token' : 'This API key'
}

/** Throws 403 unless an admin has logged in with a browser: a key that leaks must not reach other people's accounts. */
export function requireAdmin({ isAdmin, loginId }: Caller): void {
  if (loginId === null) throw new ErrandError('FORBIDDEN', 'This operation needs the browser login of an admin.')
  if (!isAdmin) throw new ErrandError('FORBIDDEN', 'This operation is for admins.')
}

/** Throws 403 unless an admin has logged in with a browser, or the credential is a platform key of that scope. */
export function requirePlatform(caller: Caller, scope: PlatformScope): void {
  const { platform } = caller
  if (!platform) return requireAdmin(caller)
  if (platform.isActing) {
    throw new ErrandError('FORBIDDEN', "Leave out the header Errand-User: this operation is the platform key's own.")
  }
  if (platform.scopes.includes(scope)) return
  throw new ErrandError(
    'FORBIDDEN',
    `This platform key has no permission for this operation: it lacks the scope "${scope}".`,
  )
}

/** Who it was that changed another person's account, for a line of the log. */
export function actorOf({ platform, userId }: Caller) {
  return platform
    ? { who: 'a platform key', ids: { platformKeyId: platform.keyId } }
    : { who: 'an admin', ids: { adminId: userId } }
}
