import type { TaskProgress } from '../../tasks/task-schema.ts'
import { isRequestId, type Fields } from './mcp-message.ts'

/** Min step between progress values, which the protocol requires to increase even if the agent reports no fraction. */
const leastStep = 1e-6

/** Converts a task's progress to notifications for a client that sent a progress token. */
export class ProgressNotes {
  readonly #token: unknown
  #told = 0

  constructor(token: unknown) {
    this.#token = token
  }

  /** Returns undefined for a client that sent no token. */
  next({ fraction, message }: TaskProgress): Fields | undefined {
    const progressToken = this.#token
    if (!isRequestId(progressToken)) return undefined
    this.#told = Math.max(fraction ?? 0, this.#told + leastStep)
    const params = {
      progressToken,
      progress: this.#told,
      ...(fraction !== undefined && { total: 1 }),
      ...(message !== undefined && { message }),
    }
    return { jsonrpc: '2.0', method: 'notifications/progress', params }
  }
}
