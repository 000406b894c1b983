import { ErrandClientError } from './client-error.ts'
import { parseRetryAfter } from './retry-after.ts'

// What may come instead of an answer of the service, and what is needed to tell.

export function networkError(cause: unknown): ErrandClientError {
  const message = `The service could not be reached, or the connection broke: ${describeCause(cause)}`
  return new ErrandClientError('NETWORK_ERROR', message, { cause })
}

/** An answer that is not the service's: a proxy's page, another program's JSON, half an answer, a redirect. */
export function badResponse(response: Response, value: unknown): ErrandClientError {
  return new ErrandClientError('BAD_RESPONSE', describeAnswer(response, value), responseFields(response))
}

/** What the head of an answer tells for an error. */
export function responseFields({ headers, status, type }: Response) {
  return {
    // A browser hides where a redirect leads, and even that it is one, behind the status 0.
    status: type === 'opaqueredirect' ? undefined : status,
    retryAfterSeconds: parseRetryAfter(headers.get('retry-after')),
    requestId: headers.get('x-request-id') ?? undefined,
  }
}

function describeAnswer({ headers, status, type }: Response, value: unknown): string {
  if (type === 'opaqueredirect' || (status >= 300 && status < 400)) {
    return 'The service answered with a redirect; set baseUrl to the address that it redirects to.'
  }
  // What refuses a request before it reaches the RPC, in the service or in front of it, often says why.
  const { message } = isRecord(value) ? value : {}
  if (typeof message === 'string') return `The request was answered with status ${status}: ${message}`
  const kind = headers.get('content-type') ?? 'no content type'
  return `The request was answered with status ${status} and ${kind}, not by the service; check baseUrl.`
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Undefined for what is no JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

/** The words of the innermost cause: Node's own message is only "fetch failed". */
export function describeCause(thrown: unknown): string {
  let text = 'no reason is known'
  let cause = thrown
  for (let depth = 0; depth < 5 && cause instanceof Error; depth++) {
    const { code } = cause as { code?: unknown }
    text = cause.message || (typeof code === 'string' ? code : text)
    cause = cause.cause
  }
  return text
}
