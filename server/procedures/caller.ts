import type { CallerScope } from '../store/access/key-types.ts'
import { ErrandError } from '../kernel/errors.ts'
import type { Actor } from '../store/audit/audit-types.ts'
import type { CredentialLimits } from '../store/limits/execution-limits.ts'
import type { PlatformScope } from '../store/platform/platform-types.ts'
import type { RateOf } from '../store/limits/limit-types.ts'
import type { AccountPlan } from '../store/limits/account-limits.ts'

export type Caller = {
  userId: string
  email: string
  isAdmin: boolean
  scopes: readonly CallerScope[]
  account: AccountPlan
  limits: CredentialLimits | null
  /** Ids of the agents whose executions the credential may start and change. Null for all agents. */
  agents: readonly string[] | null
  credential: CallerCredential
}

export type CallerCredential =
  | { kind: 'key'; keyId: string }
  | { kind: 'login'; loginId: string }
  | { kind: 'acting'; platformKeyId: string }
  /**
   * A client token can call only operations that allow it. If bound to a session or task, it can access nothing else.
   */
  | { kind: 'clientToken'; tokenId: string; sessionId: string | null; taskId: string | null }
  | { kind: 'operator' }

/** A platform key that acts for itself and not on behalf of a user. */
export type PlatformCaller = { platform: { keyId: string; scopes: readonly PlatformScope[] } }

export type AnyCaller = Caller | PlatformCaller

export const unlimited = { account: { plan: null, limits: null }, limits: null, agents: null }

export function platformOf(caller: AnyCaller): PlatformCaller['platform'] | undefined {
  return 'platform' in caller ? caller.platform : undefined
}

/** Returns the id that requests are counted under: the user's, or the platform key's. */
export function senderOf(caller: AnyCaller): string {
  return 'platform' in caller ? caller.platform.keyId : caller.userId
}

/**
 * Returns the owner of the rate window that the response headers report. A platform key does not run anything itself,
 * so its window is empty.
 */
export function rateOwnerOf(caller: AnyCaller): RateOf {
  return 'platform' in caller ? { userId: caller.platform.keyId, account: unlimited.account } : caller
}

export function keyIdOf({ credential }: Pick<Caller, 'credential'>): string | null {
  return credential.kind === 'key' ? credential.keyId : null
}

export function loginIdOf({ credential }: Pick<Caller, 'credential'>): string | undefined {
  return credential.kind === 'login' ? credential.loginId : undefined
}

export function boundSessionOf({ credential }: Pick<Caller, 'credential'>): string | null {
  return credential.kind === 'clientToken' ? credential.sessionId : null
}

export function requireAgent({ agents }: Pick<Caller, 'agents'>, agentId: string): void {
  if (agents === null || agents.includes(agentId)) return
  throw new ErrandError('FORBIDDEN', `This credential does not allow the agent ${agentId}. Use one that does.`)
}

export function requireScope(caller: AnyCaller, ...scopes: CallerScope[]): asserts caller is Caller {
  const needed = scopes.map((scope) => `"${scope}"`).join(' or ')
  if ('platform' in caller) {
    const message = `This platform key lacks the scope ${needed}. To act on behalf of a user, use a key with the scope "act" and send the Errand-User header.`
    throw new ErrandError('FORBIDDEN', message)
  }
  if (scopes.some((scope) => caller.scopes.includes(scope))) return
  throw new ErrandError(
    'FORBIDDEN',
    `${names[caller.credential.kind]} lacks permission for this operation. Use a credential with the scope ${needed}.`,
  )
}

const names: Record<CallerCredential['kind'], string> = {
  key: 'This API key',
  login: 'This browser login',
  operator: 'The operator',
  acting: 'A platform key acting on behalf of a user',
  clientToken: 'This client token',
}

/**
 * Throws 403 unless the caller is the command line or an admin with a browser login. A leaked API key must not give
 * access to other people's accounts.
 */
export function requireAdmin(caller: AnyCaller): asserts caller is Caller {
  if ('platform' in caller || !['login', 'operator'].includes(caller.credential.kind)) {
    throw new ErrandError('FORBIDDEN', "This operation requires an admin's browser login. Log in as an admin.")
  }
  if (!caller.isAdmin)
    throw new ErrandError('FORBIDDEN', 'This operation is only for admins. Ask an admin to perform it.')
}

/**
 * Throws 403 unless the caller is the command line, an admin with a browser login, or a platform key with this scope.
 */
export function requirePlatform(caller: AnyCaller, scope: PlatformScope): void {
  if (!('platform' in caller)) {
    if (caller.credential.kind !== 'acting') return requireAdmin(caller)
    throw new ErrandError(
      'FORBIDDEN',
      'A platform key must call this operation on its own behalf, not on behalf of a user. Omit the Errand-User header.',
    )
  }
  if (caller.platform.scopes.includes(scope)) return
  throw new ErrandError(
    'FORBIDDEN',
    `This platform key lacks permission for this operation. Use a key with the scope "${scope}".`,
  )
}

export function auditActorOf(caller: AnyCaller | null): Pick<Actor, 'kind' | 'id'> {
  if (caller === null) return { kind: 'visitor', id: null }
  if ('platform' in caller) return { kind: 'platformKey', id: caller.platform.keyId }
  const { credential, userId } = caller
  switch (credential.kind) {
    case 'acting':
      return { kind: 'platformKey', id: credential.platformKeyId }
    case 'clientToken':
      return { kind: 'clientToken', id: credential.tokenId }
    case 'key':
      return { kind: 'key', id: credential.keyId }
    case 'login':
      return { kind: 'user', id: userId }
    case 'operator':
      return { kind: 'commandLine', id: null }
  }
}

/**
 * Returns the stored form of the credential that creates a task: the id of a client token, or the kind. Null for an API
 * key, whose id has its own column.
 */
export function starterOf({ credential }: Pick<Caller, 'credential'>): string | null {
  if (credential.kind === 'key') return null
  if (credential.kind === 'clientToken') return credential.tokenId
  return credential.kind === 'acting' ? 'platformKey' : 'login'
}

export function actorOf(caller: AnyCaller) {
  return 'platform' in caller
    ? { who: 'a platform key', ids: { platformKeyId: caller.platform.keyId } }
    : { who: 'an admin', ids: { adminId: caller.userId } }
}
