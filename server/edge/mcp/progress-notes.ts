import type { TaskProgress } from '../../tasks/task-schema.ts'
import { isRequestId, type Fields } from './mcp-message.ts'

/** Minimum increase between progress values. MCP requires an increase even if the agent reports no fraction. */
const leastStep = 1e-6

export class ProgressNotes {
  readonly #token: unknown
  #told = 0

  constructor(token: unknown) {
    this.#token = token
  }

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
