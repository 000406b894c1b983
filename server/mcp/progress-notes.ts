import type { TaskProgress } from '../tasks/task-schema.ts'
import { isRequestId, type Fields } from './mcp-message.ts'

/** The least by which what is told rises, as the protocol demands, where the agent says of no fraction that it has. */
const leastStep = 1e-6

/** The progress of a task as notifications to the client that gave a token for them. */
export class ProgressNotes {
  readonly #token: unknown
  #told = 0

  constructor(token: unknown) {
    this.#token = token
  }

  /** Undefined for a client that asked for none. */
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
