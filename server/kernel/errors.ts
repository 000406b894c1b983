/** HTTP status and `error` string of each error code. This is the only place that assigns statuses. */
export const errorCatalogue = {
  BAD_REQUEST: { status: 400, error: 'Bad request' },
  UNAUTHORIZED: { status: 401, error: 'Unauthorized' },
  FORBIDDEN: { status: 403, error: 'Forbidden' },
  ACCOUNT_BLOCKED: { status: 403, error: 'Forbidden' },
  INSUFFICIENT_BALANCE: { status: 403, error: 'Insufficient balance' },
  BUDGET_REACHED: { status: 403, error: 'Budget reached' },
  LIMIT_REACHED: { status: 403, error: 'Limit reached' },
  NOT_FOUND: { status: 404, error: 'Not found' },
  CONNECTOR_NOT_FOUND: { status: 404, error: 'Not found' },
  METHOD_NOT_ALLOWED: { status: 405, error: 'Method not allowed' },
  REQUEST_TIMEOUT: { status: 408, error: 'Request timeout' },
  CONFLICT: { status: 409, error: 'Conflict' },
  SESSION_BUSY: { status: 409, error: 'Conflict' },
  SESSION_COMPLETED: { status: 409, error: 'Conflict' },
  SESSION_EXPIRED: { status: 410, error: 'Session expired' },
  EVENTS_EXPIRED: { status: 410, error: 'Events expired' },
  PAYLOAD_TOO_LARGE: { status: 413, error: 'Payload too large' },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, error: 'Unsupported media type' },
  EXPECTATION_FAILED: { status: 417, error: 'Expectation failed' },
  CONNECTOR_FAILED: { status: 424, error: 'Failed dependency' },
  RATE_LIMIT_EXCEEDED: { status: 429, error: 'Rate limit exceeded' },
  LOGIN_THROTTLED: { status: 429, error: 'Too many login attempts' },
  HEADERS_TOO_LARGE: { status: 431, error: 'Request header fields too large' },
  INTERNAL_ERROR: { status: 500, error: 'Internal error' },
  SERVICE_UNAVAILABLE: { status: 503, error: 'Service unavailable' },
} as const satisfies Record<string, { status: number; error: string }>

export type ErrorCode = keyof typeof errorCatalogue

export type ErrorDetail = { path: string; message: string }

/** Body of every REST error response. `code` is for programs, and `error` for people. */
export type ErrorBody = {
  error: string
  message: string
  statusCode: number
  code: ErrorCode
  details?: ErrorDetail[]
}

type ErrandErrorOptions = {
  details?: ErrorDetail[]
  retryAfterSeconds?: number
  /**
   * Whether a RATE_LIMIT_EXCEEDED error concerns a limit other than the execution rate. If so, the response omits the
   * X-RateLimit headers, because they describe the execution rate and would contradict the error.
   */
  isOtherRate?: boolean
  allow?: string
  cause?: unknown
}

/** Thrown for every expected rejection and for every internal error of the service. */
export class ErrandError extends Error {
  override readonly name = 'ErrandError'
  readonly code: ErrorCode
  readonly details: ErrorDetail[] | undefined
  readonly retryAfterSeconds: number | undefined
  readonly isOtherRate: boolean
  readonly allow: string | undefined

  constructor(code: ErrorCode, message: string, options: ErrandErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.details = options.details
    this.retryAfterSeconds = options.retryAfterSeconds
    this.isOtherRate = options.isOtherRate ?? false
    this.allow = options.allow
  }

  get status(): number {
    return errorCatalogue[this.code].status
  }
}

export function badField(path: string, message: string): ErrandError {
  return new ErrandError('BAD_REQUEST', path === '' ? message : `${path}: ${message}`, { details: [{ path, message }] })
}

/** Unexpected errors become INTERNAL_ERROR, whose message reveals nothing about the cause. */
export function toErrandError(thrown: unknown): ErrandError {
  if (thrown instanceof ErrandError) return thrown
  return new ErrandError(
    'INTERNAL_ERROR',
    'The service failed to process the request. Report the X-Request-Id header to its operator.',
    {
      cause: thrown,
    },
  )
}

/** Whether the operator must investigate the error. False for intended rejections. */
export function isFault({ cause, code, status }: ErrandError): boolean {
  return code === 'INTERNAL_ERROR' || (status >= 500 && cause !== undefined)
}

export function errorBody(error: ErrandError): ErrorBody {
  const { status, error: title } = errorCatalogue[error.code]
  const body: ErrorBody = { error: title, message: error.message, statusCode: status, code: error.code }
  if (error.details) body.details = error.details
  return body
}
