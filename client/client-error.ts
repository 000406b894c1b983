import type { ErrorCode, ErrorDetail } from './types/api-types.ts'

/**
 * What only the client can find:
 * - `INVALID_ARGUMENT`: an option or an argument cannot be sent; nothing was.
 * - `NETWORK_ERROR`: no answer, because the service could not be reached or the connection broke.
 * - `TIMEOUT`: no answer, or no end of a task, within the time allowed.
 * - `BAD_RESPONSE`: an answer that is not one of the service's, such as the error page of a proxy; see `status`.
 * - `INVALID_SIGNATURE`: a webhook request that the secret did not sign, or not within the last minutes.
 */
export type ClientOnlyCode = 'INVALID_ARGUMENT' | 'NETWORK_ERROR' | 'TIMEOUT' | 'BAD_RESPONSE' | 'INVALID_SIGNATURE'

/** Of a chat: the session is missing, or why a reply ended; codes of the catalogue occur there too. */
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

/** The same in every copy of this package, whose classes differ. */
const brand = Symbol.for('errand-client.error')

/**
 * The one class that calls fail with, whatever went wrong; only an abort rejects with the reason of its signal instead.
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
  /** The HTTP status; undefined when there was no answer, and when a chat failed after its start. */
  readonly status: number | undefined
  /** What is wrong with the request, field by field; empty for most errors. */
  readonly details: readonly ErrorDetail[]
  /** How long the service asks to wait before the call is repeated. */
  readonly retryAfterSeconds: number | undefined
  /** The X-Request-Id of the answer, to quote in a report. */
  readonly requestId: string | undefined
  /** The task that `tasks.wait` or `tasks.run` was waiting for: it was created, and goes on by itself. */
  readonly taskId: string | undefined
  /** What was charged for a reply that ended with an error; only `chat.text` says it. */
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
 * True for an error of this package, also of another copy of it than this one, for which `instanceof` is false.
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

/** The same error with more that is known about it; anything else as it is. */
export function withFields(error: unknown, fields: ClientErrorFields): unknown {
  if (!(error instanceof ErrandClientError)) return error
  const { code, message, status, details, retryAfterSeconds, requestId, taskId, costUsd, cause } = error
  const own = { status, details, retryAfterSeconds, requestId, taskId, costUsd, cause }
  return new ErrandClientError(code, message, { ...own, ...fields })
}
