import { ErrandClientError } from './client-error.ts'
import type { ClientFetch } from './connection.ts'
import { parseRetryAfter } from './retry-after.ts'

/** An answer that the RPC links can read, with the headers that errors quote. */
export class RpcAnswer {
  readonly ok: boolean
  readonly requestId: string | undefined
  readonly #value: unknown

  constructor({ ok, headers }: Response, value: unknown) {
    this.ok = ok
    this.requestId = headers.get('x-request-id') ?? undefined
    this.#value = value
  }

  json(): Promise<unknown> {
    return Promise.resolve(this.#value)
  }
}

/**
 * Fetches what must be an answer of the service's RPC. Throws NETWORK_ERROR when there is none, and BAD_RESPONSE for
 * everything else that may come instead: a proxy's page, another program's JSON, half an answer, a redirect.
 */
export async function fetchRpc(fetch: ClientFetch, url: string, init: RequestInit): Promise<RpcAnswer> {
  let response: Response
  let text: string
  try {
    // A redirect that is followed would lose the key or turn a POST into a GET, each far from its cause.
    response = await fetch(url, { ...init, redirect: 'manual' })
    text = await response.text()
  } catch (cause) {
    const message = `The service could not be reached, or the connection broke: ${describeCause(cause)}`
    throw new ErrandClientError('NETWORK_ERROR', message, { cause })
  }
  const value = parseJson(text)
  if (isRpcAnswer(value)) return new RpcAnswer(response, value)
  throw badResponse(response, value)
}

function badResponse(response: Response, value: unknown): ErrandClientError {
  const { headers, status, type } = response
  return new ErrandClientError('BAD_RESPONSE', describeAnswer(response, value), {
    // A browser hides where a redirect leads, and even that it is one, behind the status 0.
    status: type === 'opaqueredirect' ? undefined : status,
    retryAfterSeconds: parseRetryAfter(headers.get('retry-after')),
    requestId: headers.get('x-request-id') ?? undefined,
  })
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

/** One result or error, or a batch of them, as the superjson transformer writes them. */
function isRpcAnswer(value: unknown): boolean {
  const items: readonly unknown[] = Array.isArray(value) ? value : [value]
  return items.every((item) => {
    if (!isRecord(item)) return false
    const { error, result } = item
    return isRecord(error) ? isRecord(error['json']) : isRecord(result) && isRecord(result['data'])
  })
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

/** The words of the innermost cause: Node's own message is only "fetch failed". */
function describeCause(thrown: unknown): string {
  let text = 'no reason is known'
  let cause = thrown
  for (let depth = 0; depth < 5 && cause instanceof Error; depth++) {
    const { code } = cause as { code?: unknown }
    text = cause.message || (typeof code === 'string' ? code : text)
    cause = cause.cause
  }
  return text
}
