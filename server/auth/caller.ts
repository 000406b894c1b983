import { ErrandError } from '../kernel/errors.ts'
import type { CredentialLimits } from '../store/execution-limits.ts'
import type { Scope } from '../store/records.ts'

/** Who a request acts for, and what it may do. One of the two ids says by which credential. */
export type Caller = {
  userId: string
  email: string
  isAdmin: boolean
  scopes: readonly Scope[]
  keyId: string | null
  loginId: string | null
  /** What the credential allows, where that is less than what its user may do. */
  limits: CredentialLimits | null
  /** Ids of the agents that it reaches; null for all. */
  agents: readonly string[] | null
}

/** Throws 403 when the credential is for other agents. */
export function requireAgent({ agents }: Caller, agentId: string): void {
  if (agents === null || agents.includes(agentId)) return
  throw new ErrandError('FORBIDDEN', `This credential is not for the agent ${agentId}; use one that is.`)
}

/** Throws 403 when the credential does not carry that scope. */
export function requireScope(caller: Caller, scope: Scope): void {
  if (caller.scopes.includes(scope)) return
  throw new ErrandError(
    'FORBIDDEN',
    `This API key has no permission for this operation: it lacks the scope "${scope}".`,
  )
}

/** Throws 403 unless an admin has logged in with a browser: a key that leaks must not reach other people's accounts. */
export function requireAdmin({ isAdmin, loginId }: Caller): void {
  if (loginId === null) throw new ErrandError('FORBIDDEN', 'This operation needs the browser login of an admin.')
  if (!isAdmin) throw new ErrandError('FORBIDDEN', 'This operation is for admins.')
}
