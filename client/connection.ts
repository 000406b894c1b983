import { invalidArgument, type ErrandClientError } from './client-error.ts'
import { withRenewedKey, type KeySource } from './renewed-key.ts'

export type ErrandClientOptions = {
  /** URL of the service, such as `https://errand.example.com`. A path prefix is preserved. */
  baseUrl: string | URL
  /**
   * API key or token sent with every call, or a function that returns one. The function is called before the first
   * request, and again when the service rejects the token (401), for example because it has expired. Null only on the
   * service's own pages, where the browser sends the login cookie.
   */
  apiKey: string | KeySource | null
  /** Fetch implementation to use instead of the global `fetch`. */
  fetch?: ClientFetch | undefined
  /** Timeout of one request in milliseconds, in addition to its long-poll time. Defaults to 60,000. */
  requestTimeoutMs?: number | undefined
  /**
   * Maximum number of retries of a call after transient failures: no response, 429, 502, 503 or 504. Applies to reads,
   * and to changes with an Idempotency-Key, which take effect only once. Defaults to 2. A retry waits for the
   * response's Retry-After. If that is longer than 60 seconds, the call rejects immediately.
   */
  maxRetries?: number | undefined
  /** Headers sent with every request. The client's own headers take precedence. */
  defaultHeaders?: Readonly<Record<string, string>> | undefined
  onRequest?: ((request: RequestEvent) => void) | undefined
  /** Called after each response, including error responses. Not called if no response arrived. */
  onResponse?: ((response: ResponseEvent) => void) | undefined
  /** Called before the pause that precedes each retry, in any call, including `tasks.run` and `tasks.wait`. */
  onRetry?: ((retry: RetryEvent) => void) | undefined
}

export type ClientFetch = (url: string, init: RequestInit) => Promise<Response>

/** Reads made in the same tick share one request. */
export type RequestEvent = {
  method: string
  url: string
}

export type ResponseEvent = RequestEvent & {
  status: number
  headers: Headers
  requestId: string | undefined
  /** Milliseconds from the request to the response headers. */
  durationMs: number
}

export type RetryEvent = {
  /** The operation to retry, such as `tasks.create`. */
  operation: string
  error: ErrandClientError
  delayMs: number
  /** Number of this retry, starting at 1. */
  retry: number
}

export type Connection = {
  baseUrl: string
  headers: Readonly<Record<string, string>>
  fetch: ClientFetch
  requestTimeoutMs: number
  maxRetries: number
  onRetry: (retry: RetryEvent) => void
}

/** A user, identified by your product's external id or by the service's id. */
export type ActingUser = string | { userId: string }

const defaultRequestTimeoutMs = 60_000
const defaultMaxRetries = 2

export function toConnection(options: ErrandClientOptions): Connection {
  const { baseUrl, apiKey, requestTimeoutMs = defaultRequestTimeoutMs, maxRetries = defaultMaxRetries } = options
  const isSource = typeof apiKey === 'function'
  if (apiKey !== null && !isSource) checkKey(apiKey)
  for (const name of ['fetch', 'onRequest', 'onResponse', 'onRetry'] as const) {
    if (options[name] !== undefined && typeof options[name] !== 'function') {
      throw invalidArgument(name, 'Must be a function')
    }
  }
  checkTimeout('requestTimeoutMs', requestTimeoutMs)
  checkRetries(maxRetries)
  const observed = observedFetch(options)
  return {
    baseUrl: checkBaseUrl(baseUrl),
    headers: {
      ...checkHeaders(options.defaultHeaders),
      ...(apiKey !== null && !isSource && { authorization: `Bearer ${apiKey}` }),
    },
    fetch: isSource ? withRenewedKey(observed, async () => checkKey(await apiKey())) : observed,
    requestTimeoutMs,
    maxRetries,
    onRetry: (retry) => observe(options.onRetry, retry),
  }
}

/** The error never quotes the key, not even an invalid one, because errors are often logged. */
function checkKey(apiKey: unknown): string {
  if (typeof apiKey === 'string' && /^[\x21-\x7e]+$/.test(apiKey)) return apiKey
  throw invalidArgument('apiKey', 'Must be an API key, with only visible ASCII characters and no spaces')
}

export function connectionOf(connection: Connection, user: ActingUser): Connection {
  return { ...connection, headers: { ...connection.headers, 'errand-user': nameOf(user) } }
}

function nameOf(user: ActingUser): string {
  if (typeof user === 'string' && user !== '' && user.isWellFormed()) {
    return `ext:${encodeURIComponent(user)}`
  }
  const userId: unknown = (user as { userId?: unknown } | null)?.userId
  if (typeof userId === 'string' && /^[\w-]+$/.test(userId)) return userId
  throw invalidArgument('user', 'Must be an external id or { userId }')
}

/** Throws INVALID_ARGUMENT unless the value is a positive number of milliseconds or `Infinity`. */
export function checkTimeout(path: string, timeoutMs: unknown): void {
  if (typeof timeoutMs !== 'number' || !(timeoutMs > 0)) {
    throw invalidArgument(path, 'Must be a number of milliseconds greater than 0')
  }
}

export function checkRetries(maxRetries: unknown): void {
  if (typeof maxRetries !== 'number' || !Number.isInteger(maxRetries) || maxRetries < 0) {
    throw invalidArgument('maxRetries', 'Must be a whole number, 0 or more')
  }
}

function observedFetch({ fetch, onRequest, onResponse }: ErrandClientOptions): ClientFetch {
  return async (url, init) => {
    const request = { method: init.method ?? 'GET', url }
    observe(onRequest, request)
    const startedAt = performance.now()
    // Look up the global fetch at each call, and call it on `globalThis`, because browsers reject any other `this`.
    const response = await (fetch ? fetch(url, init) : globalThis.fetch(url, init))
    observe(onResponse, {
      ...request,
      status: response.status,
      headers: response.headers,
      requestId: response.headers.get('x-request-id') ?? undefined,
      durationMs: performance.now() - startedAt,
    })
    return response
  }
}

/**
 * Rethrows a hook's error asynchronously. Such an error is a bug in the caller's program and must not fail the call,
 * which may already be charged.
 */
function observe<T>(hook: ((value: T) => void) | undefined, value: T): void {
  try {
    hook?.(value)
  } catch (thrown) {
    queueMicrotask(() => {
      throw thrown
    })
  }
}

function checkHeaders(given: Readonly<Record<string, string>> = {}): Record<string, string> {
  try {
    // Header names are case-insensitive, so merge them to avoid sending a header twice.
    const headers: Record<string, string> = {}
    new Headers(given).forEach((value, name) => {
      headers[name] = value
    })
    return headers
  } catch {
    throw invalidArgument('defaultHeaders', 'Must contain only valid HTTP header names and values')
  }
}

function checkBaseUrl(baseUrl: string | URL): string {
  const url = parseUrl(baseUrl)
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw invalidArgument('baseUrl', 'Must be an absolute http or https URL, for example https://errand.example.com')
  }
  if (url.username || url.password) throw invalidArgument('baseUrl', 'Must not contain a user name or password')
  if (url.search || url.hash) throw invalidArgument('baseUrl', 'Must not contain a query or a fragment')
  return url.origin + url.pathname.replace(/\/+$/, '')
}

function parseUrl(text: string | URL): URL | undefined {
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}
