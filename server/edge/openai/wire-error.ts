import { answerJson, type AnswerForm } from '../../http/answer-forms.ts'
import { ErrandError, type ErrorCode } from '../../kernel/errors.ts'

type Wire = { status?: number; type: string; code: string }

const invalid = 'invalid_request_error'
const noQuota = 'insufficient_quota'

/**
 * Maps error codes to OpenAI's status, type and code. OpenAI's clients retry after 408, 409, 429 and 5xx. An error that
 * a retry cannot fix gets a different status, or a header that prevents the retry.
 */
const wire: Record<ErrorCode, Wire> = {
  BAD_REQUEST: { type: invalid, code: 'invalid_value' },
  UNAUTHORIZED: { type: invalid, code: 'invalid_api_key' },
  FORBIDDEN: { type: 'permission_error', code: 'permission_denied' },
  ACCOUNT_BLOCKED: { type: 'permission_error', code: 'account_blocked' },
  INSUFFICIENT_BALANCE: { status: 402, type: noQuota, code: noQuota },
  BUDGET_REACHED: { status: 402, type: noQuota, code: 'budget_reached' },
  LIMIT_REACHED: { status: 402, type: noQuota, code: 'limit_reached' },
  NOT_FOUND: { type: invalid, code: 'not_found' },
  CONNECTOR_NOT_FOUND: { type: invalid, code: 'connector_not_found' },
  METHOD_NOT_ALLOWED: { type: invalid, code: 'method_not_allowed' },
  REQUEST_TIMEOUT: { type: 'timeout_error', code: 'request_timeout' },
  CONFLICT: { type: invalid, code: 'conflict' },
  SESSION_BUSY: { type: 'conflict_error', code: 'session_busy' },
  SESSION_COMPLETED: { type: invalid, code: 'session_completed' },
  SESSION_EXPIRED: { type: invalid, code: 'session_expired' },
  EVENTS_EXPIRED: { type: invalid, code: 'events_expired' },
  PAYLOAD_TOO_LARGE: { type: invalid, code: 'payload_too_large' },
  UNSUPPORTED_MEDIA_TYPE: { type: invalid, code: 'unsupported_media_type' },
  EXPECTATION_FAILED: { type: invalid, code: 'expectation_failed' },
  CONNECTOR_FAILED: { type: invalid, code: 'connector_failed' },
  RATE_LIMIT_EXCEEDED: { type: 'rate_limit_error', code: 'rate_limit_exceeded' },
  LOGIN_THROTTLED: { type: 'rate_limit_error', code: 'rate_limit_exceeded' },
  HEADERS_TOO_LARGE: { type: invalid, code: 'headers_too_large' },
  INTERNAL_ERROR: { type: 'server_error', code: 'internal_error' },
  SERVICE_UNAVAILABLE: { type: 'server_error', code: 'service_unavailable' },
}

const passing = new Set<ErrorCode>([
  'REQUEST_TIMEOUT',
  'SESSION_BUSY',
  'RATE_LIMIT_EXCEEDED',
  'LOGIN_THROTTLED',
  'INTERNAL_ERROR',
  'SERVICE_UNAVAILABLE',
])

type Field = { param?: string; code?: string; isFinal?: boolean }

/** An error that sets fields of OpenAI's error format directly, instead of deriving them from its code. */
export class WireError extends ErrandError {
  readonly field: Field

  constructor(code: ErrorCode, message: string, field: Field) {
    super(code, message)
    this.field = field
  }
}

/** Code for a value that OpenAI's protocol allows but agents do not support. */
export const unsupported = 'unsupported_value'

export function badParam(param: string, message: string, code?: string): WireError {
  return new WireError('BAD_REQUEST', `${param}: ${message}`, { param, ...(code !== undefined && { code }) })
}

export type WireErrorBody = { message: string; type: string; param: string | null; code: string }

export function wireError(error: ErrandError): WireErrorBody {
  const { code, type } = wire[error.code]
  const field: Field = error instanceof WireError ? error.field : {}
  const param = field.param ?? error.details?.[0]?.path ?? ''
  return { message: error.message, type, param: param === '' ? null : param, code: field.code ?? code }
}

function wireErrorJson(error: ErrandError): string {
  return JSON.stringify({ error: wireError(error) })
}

export const wireForm: AnswerForm = {
  errorText: wireErrorJson,
  answer: (routed, result) => answerJson(routed, JSON.stringify(result)),
  error(error) {
    const isFinal = !passing.has(error.code) || (error instanceof WireError && error.field.isFinal === true)
    return {
      status: wire[error.code].status ?? error.status,
      text: wireErrorJson(error),
      headers: isFinal ? ['X-Should-Retry', 'false'] : [],
    }
  },
}
