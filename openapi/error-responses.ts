import { ErrandError, errorBody, errorCatalogue, type ErrorCode } from '../server/kernel/errors.ts'

type Json = Record<string, unknown>

export const sharedErrors: Record<string, string> = {
  401: 'Authentication is missing or invalid.',
  403: 'The caller lacks permission.',
  429: 'The caller exceeded the limit on executions per minute.',
  500: 'The service failed. Report the `X-Request-Id` to its operator.',
  503: 'The service is overloaded, is stopping or cannot write. Retry with the same Idempotency-Key.',
}

/** A required header is present in every response for which the document lists it. */
export const headerComponents = {
  'X-Request-Id': always(header('Identifies the request in the logs', 'string')),
  'X-RateLimit-Limit': header('Maximum agent executions per minute'),
  'X-RateLimit-Remaining': header('Remaining agent executions'),
  'X-RateLimit-Reset': header('Unix time in seconds at which the oldest counted execution leaves the window'),
  'WWW-Authenticate': always(header('Authentication scheme', 'string')),
  'Retry-After': always(header('Seconds to wait before retrying')),
  'Errand-Turn-Id': always(header('Id of the turn, to reread or stop its reply', 'string')),
  'Set-Cookie': header('The cookie of the browser login', 'string'),
}

type HeaderName = keyof typeof headerComponents

const rateHeaderNames = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'] as const

export const rateHeaders = headersOf(...rateHeaderNames)
export const retryAfterAtTimes: Json = { 'Retry-After': header('Seconds to wait before retrying') }
/**
 * Statuses of errors that can occur before authentication. Their responses have no rate headers, which describe the
 * caller's limit.
 */
const beforeCaller = /^(?:403|500|503)$/

export function headersOf(...names: HeaderName[]): Json {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

type Refusal = { description: string; headers?: Json; code?: ErrorCode | undefined }

/** The example uses `code`, or else the first code with this status. */
export function errorResponse(status: string, { description, headers = {}, ...given }: Refusal): Json {
  const codes = Object.keys(errorCatalogue) as ErrorCode[]
  const { code = codes.find((known) => String(errorCatalogue[known].status) === status)! } = given
  return {
    description,
    headers: { ...headersOf('X-Request-Id'), ...headers },
    content: {
      'application/json': {
        schema: { $ref: '#/components/schemas/ErrorBody' },
        example: errorBody(new ErrandError(code, description)),
      },
    },
  }
}

/** Schemas of error bodies. Their names avoid `Error`, which is a built-in type in many languages. */
export const errorSchemas: Json = {
  ErrorBody: {
    type: 'object',
    description: 'The error. Distinguish errors by `code`; handle unknown codes by their status.',
    required: ['error', 'message', 'statusCode', 'code'],
    properties: {
      error: {
        type: 'string',
        description: 'Title of the status or code',
        enum: [...new Set(Object.values(errorCatalogue).map(({ error }) => error))],
      },
      message: { type: 'string', description: 'Human-readable explanation and remedy' },
      statusCode: { type: 'integer', description: 'HTTP status of the response' },
      code: { $ref: '#/components/schemas/ErrorCode' },
      details: {
        type: 'array',
        description: 'Errors by field',
        items: { $ref: '#/components/schemas/ErrorDetail' },
      },
    },
  },
  ErrorDetail: {
    type: 'object',
    required: ['path', 'message'],
    properties: {
      path: { type: 'string', description: 'Path of the field, such as `params.text`; empty for the whole input' },
      message: { type: 'string' },
    },
  },
}

/**
 * Returns the errors of a chat. Admission errors are also sent as an `error` event, unless the client accepts only
 * JSON.
 */
export function chatErrors(): Json {
  const refusals: Record<string, string> = {
    ...sharedErrors,
    400: 'The body is invalid.',
    403: 'The balance, `maxCostUsd` or a limit does not cover the message, too much was written off today, or the caller lacks permission.',
    404: 'The session was not found.',
    409: 'The session is completed, another of its replies is in progress, `replaces` is not its last turn, or the Idempotency-Key or the quote was already used.',
    410: 'The session has expired.',
    413: 'The body is too large.',
    415: 'The body is not JSON.',
    424: 'A connector of the session needs a sign-in.',
  }
  const responses: Json = {}
  for (const [status, description] of Object.entries(refusals)) {
    const own = {
      ...(status === '401' ? headersOf('WWW-Authenticate') : rateHeadersOf(status)),
      ...(status === '429' && rateHeadersUnless('a different limit rejected the request')),
      ...retryHeaderOf(status),
    }
    const response = errorResponse(status, { description, headers: own }) as { content: Json }
    if (/403|404|409|410|424|429/.test(status)) {
      response.content['application/x-ndjson'] = { schema: { $ref: '#/components/schemas/ErrorEvent' } }
    }
    responses[status] = response
  }
  return responses
}

export function rateHeadersOf(status: string): Json {
  return beforeCaller.test(status) ? rateHeadersUnless('the request was rejected before authentication') : rateHeaders
}

function rateHeadersUnless(reason: string): Json {
  const named = Object.entries(rateHeaders) as [HeaderName, Json][]
  return Object.fromEntries(
    named.map(([name, own]) => {
      const description = `${String(headerComponents[name]['description'])}; absent if ${reason}`
      return [name, { ...own, description }]
    }),
  )
}

export function retryHeaderOf(status: string): Json {
  return status === '429' || status === '503' ? headersOf('Retry-After') : {}
}

function always(own: Json): Json {
  return { ...own, required: true }
}

function header(description: string, type: 'integer' | 'string' = 'integer'): Json {
  return { description, schema: { type } }
}
