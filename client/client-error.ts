import type { ErrorCode, ErrorDetail } from './types/api-types.ts'

/**
 * Error codes that only the client uses:
 * - `INVALID_ARGUMENT`: an option or argument is invalid; nothing was sent.
 * - `NETWORK_ERROR`: no response, because the service is unreachable or the connection broke.
 * - `TIMEOUT`: no response arrived, or the task did not end, within the timeout.
 * - `BAD_RESPONSE`: a response that does not come from the service, such as a proxy's error page; see `status`.
 * - `INVALID_SIGNATURE`: a webhook request was not signed with this secret, or its timestamp is outside the tolerance.
 */
export type ClientOnlyCode = 'INVALID_ARGUMENT' | 'NETWORK_ERROR' | 'TIMEOUT' | 'BAD_RESPONSE' | 'INVALID_SIGNATURE'

/**
 * Codes that only chats use, for a missing session or a failed reply. Chats also use the codes of the error catalogue.
 */
type ChatCode = 'SESSION_NOT_FOUND' | 'AGENT_ERROR' | 'AGENT_TIMEOUT' | 'AGENT_INTERRUPTED'

export type ClientErrorCode = ErrorCode | ChatCode | ClientOnlyCode

type ClientErrorFields = {
  status?: number | undefined
  details?: readonly ErrorDetail[] | undefined
  retryAfterSeconds?: number | undefined
  requestId?: string | undefined
  taskId?: string | undefined
  costUsd?: string | undefined
  cause?: unknown
}

/** Symbol shared by all loaded copies of this package, each of which has a separate error class. */
const brand = Symbol.for('errand-client.error')

/**
 * Calls reject with errors of this class, except that an aborted call rejects with the signal's reason.
 *
 * @example
 * try {
 *   await client.tasks.create({ endpointId: 'text.summarize', params: { text } })
 * } catch (error) {
 *   if (isErrandError(error) && error.code === 'INSUFFICIENT_BALANCE') return askForMoney(error.message)
 *   throw error
 * }
 */
export class ErrandClientError extends Error {
  override readonly name = 'ErrandClientError'
  readonly code: ClientErrorCode
  /** The HTTP status. Undefined if there was no response, or if a chat failed after it started. */
  readonly status: number | undefined
  /** Field errors of the request. Empty for most errors. */
  readonly details: readonly ErrorDetail[]
  readonly retryAfterSeconds: number | undefined
  /** The X-Request-Id of the response. Include it in bug reports. */
  readonly requestId: string | undefined
  /** Id of the task that `tasks.wait` or `tasks.run` was waiting for. The task continues. */
  readonly taskId: string | undefined
  /** The amount charged for a reply that ended with an error. Set only by `chat.text`. */
  readonly costUsd: string | undefined

  constructor(code: ClientErrorCode, message: string, fields: ClientErrorFields = {}) {
    super(message, fields.cause === undefined ? undefined : { cause: fields.cause })
    this.code = code
    this.status = fields.status
    this.details = fields.details ?? []
    this.retryAfterSeconds = fields.retryAfterSeconds
    this.requestId = fields.requestId
    this.taskId = fields.taskId
    this.costUsd = fields.costUsd
    Object.defineProperty(this, brand, { value: true })
  }
}

/**
 * Whether a thrown value is an error from this package. Unlike `instanceof`, also detects errors of another loaded copy
 * of the package.
 *
 * @example
 * if (isErrandError(error) && error.code === 'RATE_LIMIT_EXCEEDED') await pause(error.retryAfterSeconds)
 */
export function isErrandError(thrown: unknown): thrown is ErrandClientError {
  return typeof thrown === 'object' && thrown !== null && Reflect.get(thrown, brand) === true
}

export function invalidArgument(path: string, message: string): ErrandClientError {
  return new ErrandClientError('INVALID_ARGUMENT', `${path}: ${message}`, { details: [{ path, message }] })
}

/** Returns a copy of the error with the given fields. Other values are returned unchanged. */
export function withFields(error: unknown, fields: ClientErrorFields): unknown {
  if (!(error instanceof ErrandClientError)) return error
  const { code, message, status, details, retryAfterSeconds, requestId, taskId, costUsd, cause } = error
  const own = { status, details, retryAfterSeconds, requestId, taskId, costUsd, cause }
  return new ErrandClientError(code, message, { ...own, ...fields })
}
