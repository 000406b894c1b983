import { invalidArgument } from './client-error.ts'

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
}

export type ClientFetch = (url: string, init: RequestInit) => Promise<Response>

/** What every kind of call needs to reach the service; the options, checked. */
export type Connection = {
  /** Without a slash at the end. */
  baseUrl: string
  headers: { Authorization?: string }
  fetch: ClientFetch
  requestTimeoutMs: number
}

const defaultRequestTimeoutMs = 60_000

/** Throws INVALID_ARGUMENT for options that no call could work with. */
export function toConnection(options: ErrandClientOptions): Connection {
  const { baseUrl, apiKey, fetch, requestTimeoutMs = defaultRequestTimeoutMs } = options
  // The text never quotes the key, not even a wrong one: errors end up in logs.
  if (apiKey !== null && (typeof apiKey !== 'string' || !/^[\x21-\x7e]+$/.test(apiKey))) {
    throw invalidArgument('apiKey', 'Must be an API key: visible ASCII characters without spaces')
  }
  if (fetch !== undefined && typeof fetch !== 'function') throw invalidArgument('fetch', 'Must be a function')
  checkTimeout('requestTimeoutMs', requestTimeoutMs)
  return {
    baseUrl: checkBaseUrl(baseUrl),
    headers: apiKey === null ? {} : { Authorization: `Bearer ${apiKey}` },
    // Looked up at each call, and called as a plain function: a browser's fetch refuses any other `this`.
    fetch: fetch ?? ((url, init) => globalThis.fetch(url, init)),
    requestTimeoutMs,
  }
}

/** Throws INVALID_ARGUMENT unless it is a length of time; `Infinity` is one, 0 is not. */
export function checkTimeout(path: string, timeoutMs: unknown): void {
  if (typeof timeoutMs !== 'number' || !(timeoutMs > 0)) {
    throw invalidArgument(path, 'Must be a number of milliseconds, more than 0')
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
