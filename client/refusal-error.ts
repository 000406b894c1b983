import type { ErrorCode, ErrorDetail, errorCatalogue } from '../server/kernel/errors.ts'
import { ErrandClientError, type ClientErrorCode } from './client-error.ts'
import { badResponse, isRecord, parseJson, responseFields } from './odd-answer.ts'

type Catalogue = typeof errorCatalogue
type Status = Catalogue[ErrorCode]['status']
type CodeOf<S extends Status> = { [Code in ErrorCode]: Catalogue[Code]['status'] extends S ? Code : never }[ErrorCode]

/**
 * Error codes by status, for error bodies without a code, which older service versions send. If several codes share a
 * status, the map has the most general one. The compiler checks the map against the catalogue.
 */
const codesByStatus: { [S in Status]: CodeOf<S> } = {
  400: 'BAD_REQUEST',
  401: 'UNAUTHORIZED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  405: 'METHOD_NOT_ALLOWED',
  408: 'REQUEST_TIMEOUT',
  409: 'CONFLICT',
  410: 'SESSION_EXPIRED',
  413: 'PAYLOAD_TOO_LARGE',
  415: 'UNSUPPORTED_MEDIA_TYPE',
  417: 'EXPECTATION_FAILED',
  424: 'CONNECTOR_FAILED',
  429: 'RATE_LIMIT_EXCEEDED',
  431: 'HEADERS_TOO_LARGE',
  500: 'INTERNAL_ERROR',
  503: 'SERVICE_UNAVAILABLE',
}

type Refusal = { code: ClientErrorCode; message: string }

/**
 * Creates the error for a response that is not a stream. The text can be an `error` event, the body of a REST error, or
 * anything else.
 */
export function refusalError(response: Response, text: string): ErrandClientError {
  const { status } = response
  const value = parseJson(text)
  const refusal = readStreamError(value) ?? readErrorBody(value, status)
  if (!refusal || status < 400) return badResponse(response, value)
  return new ErrandClientError(refusal.code, refusal.message, {
    ...responseFields(response),
    details: isRecord(value) ? readDetails(value['details']) : undefined,
  })
}

/** Reads the code and message of an `error` event. Unknown codes are returned unchanged. */
function readStreamError(value: unknown): Refusal | undefined {
  if (!isRecord(value) || value['type'] !== 'error' || !isRecord(value['error'])) return undefined
  const { code, message } = value['error']
  if (typeof code !== 'string' || typeof message !== 'string') return undefined
  return { code: code as ClientErrorCode, message }
}

function readErrorBody(value: unknown, status: number): Refusal | undefined {
  if (!isRecord(value)) return undefined
  const { code: named, error, message } = value
  if (typeof error !== 'string' || typeof message !== 'string') return undefined
  if (typeof named === 'string') return { code: named as ClientErrorCode, message }
  const titled = titledCodes.find((entry) => entry.status === status && entry.error === error)
  if (titled) return { code: titled.code, message }
  const code = (codesByStatus as Partial<Record<number, ErrorCode>>)[status]
  return code && { code, message }
}

/** Error titles that identify a code more precisely than the status. */
const titledCodes = [
  { code: 'INSUFFICIENT_BALANCE', status: 403, error: 'Insufficient balance' },
  { code: 'BUDGET_REACHED', status: 403, error: 'Budget reached' },
  { code: 'LIMIT_REACHED', status: 403, error: 'Limit reached' },
  { code: 'EVENTS_EXPIRED', status: 410, error: 'Events expired' },
  { code: 'LOGIN_THROTTLED', status: 429, error: 'Too many login attempts' },
] as const satisfies readonly TitledCode[]

type TitledCode = { [Code in ErrorCode]: { code: Code } & Catalogue[Code] }[ErrorCode]

function readDetails(details: unknown): ErrorDetail[] | undefined {
  if (!Array.isArray(details)) return undefined
  return details.filter(
    (detail): detail is ErrorDetail =>
      isRecord(detail) && typeof detail['path'] === 'string' && typeof detail['message'] === 'string',
  )
}
