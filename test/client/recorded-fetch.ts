import type { ClientFetch } from '../../client/client.ts'

/** The global fetch, and what was asked of it. */
export function recordedFetch(): { fetch: ClientFetch; sent: { url: URL; init: RequestInit }[] } {
  const sent: { url: URL; init: RequestInit }[] = []
  const fetch: ClientFetch = (url, init) => {
    sent.push({ url: new URL(url), init })
    return globalThis.fetch(url, init)
  }
  return { fetch, sent }
}
