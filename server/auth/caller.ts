import { ErrandError } from '../kernel/errors.ts'
import type { Scope } from '../store/records.ts'

/** Who a request acts for, and what it may do. */
export type Caller = { userId: string; email: string; isAdmin: boolean; scopes: readonly Scope[]; keyId: string | null }

/** Throws 403 when the credential does not carry that scope. */
export function requireScope(caller: Caller, scope: Scope): void {
  if (caller.scopes.includes(scope)) return
  throw new ErrandError(
    'FORBIDDEN',
    `This API key has no permission for this operation: it lacks the scope "${scope}".`,
  )
}
