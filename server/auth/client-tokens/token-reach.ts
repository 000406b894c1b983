import { ErrandError } from '../../kernel/errors.ts'
import type { Caller } from '../caller.ts'

/**
 * Which client tokens an operation is open to: none; those of a whole account; beside these, one that is bound to the
 * session, or the task, that the input names. Of a turn, which the input names by its own id, the operation looks for its session.
 */
export type Reach = 'none' | 'account' | 'session' | 'task' | 'turn'

/** Throws 403 where a client token does not reach an operation, whatever its input. */
export function requireReach({ token }: Caller, reach: Reach): void {
  if (token === null) return
  if (reach === 'none') throw new ErrandError('FORBIDDEN', 'Client tokens do not reach this operation.')
  const bound = token.sessionId !== null ? 'session' : token.taskId !== null ? 'task' : 'account'
  if (bound === 'account' || bound === (reach === 'turn' ? 'session' : reach)) return
  throw new ErrandError('FORBIDDEN', `This client token reaches its ${bound} only.`)
}

const notFound: Record<'session' | 'task', string> = { session: 'Session not found', task: 'Task not found' }

/** Throws 404, as for an id that nobody has, where a client token is bound to something else than the input names. */
export function assertReached({ token }: Caller, input: unknown, reach: 'session' | 'task'): void {
  const field = reach === 'session' ? 'sessionId' : 'taskId'
  const own = token?.[field] ?? null
  if (own === null || (input as Record<typeof field, unknown>)[field] === own) return
  throw boundElsewhere(reach)
}

/** As of an id that nobody has. */
export function boundElsewhere(what: 'session' | 'task'): ErrandError {
  return new ErrandError('NOT_FOUND', notFound[what])
}
