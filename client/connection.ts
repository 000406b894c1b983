import { invalidArgument, type ErrandClientError } from './client-error.ts'

export type ErrandClientOptions = {
  /** Where the service is, for example `https://errand.example.com`; a path in front of its own is kept. */
  baseUrl: string | URL
  /**
   * An API key of the account; every call is made in its name. Null only in a page of the service itself, where the
   * browser sends the cookie of its login.
   */
  apiKey: string | null
  /** Instead of the global fetch. */
  fetch?: ClientFetch | undefined
  /** How long one request may take, beyond the wait that it asks for; 60,000 when left out. */
  requestTimeoutMs?: number | undefined
  /**
   * How often a call is repeated that failed for a reason that passes by itself: no answer, 429, 502, 503, 504. Reads
   * are, and the changes that carry an Idempotency-Key, which are made once however often they are sent. 2 when left
   * out. A Retry-After is waited for; one of more than 60 seconds is thrown.
   */
  maxRetries?: number | undefined
  /** Sent with every request. The client's own headers go before them. */
  defaultHeaders?: Readonly<Record<string, string>> | undefined
  /** Before each request. */
  onRequest?: ((request: RequestEvent) => void) | undefined
  /** After each answer, also one that refuses; not when there was none. */
  onResponse?: ((response: ResponseEvent) => void) | undefined
  /** Before each pause after which something is sent again, by any call, `tasks.run` and `tasks.wait` too. */
  onRetry?: ((retry: RetryEvent) => void) | undefined
}

export type ClientFetch = (url: string, init: RequestInit) => Promise<Response>

/** One HTTP request; reads of one moment share one. */
export type RequestEvent = {
  method: string
  url: string
}

export type ResponseEvent = RequestEvent & {
  status: number
  headers: Headers
  /** The X-Request-Id of the answer. */
  requestId: string | undefined
  /** From the request to the head of the answer. */
  durationMs: number
}

export type RetryEvent = {
  /** What is repeated, for example `tasks.create`. */
  operation: string
  /** Why. */
  error: ErrandClientError
  /** How long is waited before. */
  delayMs: number
  /** 1 before the first repetition. */
  retry: number
}

/** What every kind of call needs to reach the service; the options, checked. */
export type Connection = {
  /** Without a slash at the end. */
  baseUrl: string
  headers: Readonly<Record<string, string>>
  fetch: ClientFetch
  requestTimeoutMs: number
  maxRetries: number
  onRetry: (retry: RetryEvent) => void
}

/** A user by the product's own id, or by that of the service. */
export type ActingUser = string | { userId: string }

const defaultRequestTimeoutMs = 60_000
const defaultMaxRetries = 2

/** Throws INVALID_ARGUMENT for options that no call could work with. */
export function toConnection(options: ErrandClientOptions): Connection {
  const { baseUrl, apiKey, requestTimeoutMs = defaultRequestTimeoutMs, maxRetries = defaultMaxRetries } = options
  // The text never quotes the key, not even a wrong one: errors end up in logs.
  if (apiKey !== null && (typeof apiKey !== 'string' || !/^[\x21-\x7e]+$/.test(apiKey))) {
    throw invalidArgument('apiKey', 'Must be an API key: visible ASCII characters without spaces')
  }
  for (const name of ['fetch', 'onRequest', 'onResponse', 'onRetry'] as const) {
    if (options[name] !== undefined && typeof options[name] !== 'function') {
      throw invalidArgument(name, 'Must be a function')
    }
  }
  checkTimeout('requestTimeoutMs', requestTimeoutMs)
  checkRetries(maxRetries)
  return {
    baseUrl: checkBaseUrl(baseUrl),
    headers: { ...checkHeaders(options.defaultHeaders), ...(apiKey !== null && { authorization: `Bearer ${apiKey}` }) },
    fetch: observedFetch(options),
    requestTimeoutMs,
    maxRetries,
    onRetry: (retry) => observe(options.onRetry, retry),
  }
}

/** The same service in the name of that user. */
export function connectionOf(connection: Connection, user: ActingUser): Connection {
  return { ...connection, headers: { ...connection.headers, 'errand-user': nameOf(user) } }
}

function nameOf(user: ActingUser): string {
  if (typeof user === 'string' && user !== '' && user.isWellFormed()) {
    return `ext:${encodeURIComponent(user)}`
  }
  const userId: unknown = (user as { userId?: unknown } | null)?.userId
  if (typeof userId === 'string' && /^[\w-]+$/.test(userId)) return userId
  throw invalidArgument('user', 'Must be an external id, or { userId }')
}

/** Throws INVALID_ARGUMENT unless it is a length of time; `Infinity` is one, 0 is not. */
export function checkTimeout(path: string, timeoutMs: unknown): void {
  if (typeof timeoutMs !== 'number' || !(timeoutMs > 0)) {
    throw invalidArgument(path, 'Must be a number of milliseconds, more than 0')
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
    // Looked up at each call, and called as a plain function: a browser's fetch refuses any other `this`.
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

/** A hook that throws is its program's fault and not the call's, which may have been paid for: it is thrown apart. */
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
    // Names without case, so that no header is sent twice.
    const headers: Record<string, string> = {}
    new Headers(given).forEach((value, name) => {
      headers[name] = value
    })
    return headers
  } catch {
    throw invalidArgument('defaultHeaders', 'Must be names and values that HTTP headers can have')
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
