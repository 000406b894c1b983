import { ErrandClientError } from './client-error.ts'
import { parseRetryAfter } from './retry-after.ts'

export function networkError(cause: unknown): ErrandClientError {
  const message = `The connection to the service failed (${describeCause(cause)}). Check baseUrl and the network.`
  return new ErrandClientError('NETWORK_ERROR', message, { cause })
}

/**
 * Creates the error for a response that does not come from the service, such as a proxy's page, another program's JSON,
 * a truncated response or a redirect.
 */
export function badResponse(response: Response, value: unknown): ErrandClientError {
  return new ErrandClientError('BAD_RESPONSE', describeAnswer(response, value), responseFields(response))
}

export function responseFields({ headers, status, type }: Response) {
  return {
    // A browser reports a redirect with status 0 and hides its target.
    status: type === 'opaqueredirect' ? undefined : status,
    retryAfterSeconds: parseRetryAfter(headers.get('retry-after')),
    requestId: headers.get('x-request-id') ?? undefined,
  }
}

function describeAnswer({ headers, status, type }: Response, value: unknown): string {
  if (type === 'opaqueredirect' || (status >= 300 && status < 400)) {
    return "The service responded with a redirect. Set baseUrl to the redirect's target URL."
  }
  // If a request fails before it reaches the RPC handler, the response often still has a `message`.
  const { message } = isRecord(value) ? value : {}
  if (typeof message === 'string') return `The request failed with status ${status}: ${message}`
  const kind = headers.get('content-type') ?? 'no content type'
  return `The response with status ${status} and ${kind} did not come from the service. Check baseUrl.`
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns undefined for invalid JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

/** Returns the message of the innermost cause, because the outer message from Node is only "fetch failed". */
export function describeCause(thrown: unknown): string {
  let text = 'unknown reason'
  let cause = thrown
  for (let depth = 0; depth < 5 && cause instanceof Error; depth++) {
    const { code } = cause as { code?: unknown }
    text = cause.message || (typeof code === 'string' ? code : text)
    cause = cause.cause
  }
  return text
}
