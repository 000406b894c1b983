import { ErrandError } from '../kernel/errors.ts'
import type { Caller } from './caller.ts'

/**
 * Client tokens that may call an operation: none, only those for the whole account, or also those bound to a session or
 * task. A bound token must match the session or task in the input. If the input contains a turn, the operation looks up
 * the turn's session.
 */
export type Reach = 'none' | 'account' | 'session' | 'task' | 'turn'

/** Throws 403 if a client token may not call an operation, regardless of its input. */
export function requireReach({ credential }: Caller, reach: Reach): void {
  if (credential.kind !== 'clientToken') return
  if (reach === 'none')
    throw new ErrandError('FORBIDDEN', 'Client tokens cannot call this operation. Use another credential.')
  const bound = credential.sessionId !== null ? 'session' : credential.taskId !== null ? 'task' : 'account'
  if (bound === 'account' || bound === (reach === 'turn' ? 'session' : reach)) return
  throw new ErrandError('FORBIDDEN', `This client token has access only to its ${bound}. Use another credential.`)
}

const notFound: Record<'session' | 'task', string> = {
  session: 'Session not found. Check the id.',
  task: 'Task not found. Check the id.',
}

/**
 * Throws 404, as for an unknown id, if a client token is bound to a session or task other than the one in the input.
 */
export function assertReached({ credential }: Caller, input: unknown, reach: 'session' | 'task'): void {
  const field = reach === 'session' ? 'sessionId' : 'taskId'
  const own = credential.kind === 'clientToken' ? credential[field] : null
  if (own === null || (input as Record<typeof field, unknown>)[field] === own) return
  throw boundElsewhere(reach)
}

export function boundElsewhere(what: 'session' | 'task'): ErrandError {
  return new ErrandError('NOT_FOUND', notFound[what])
}
