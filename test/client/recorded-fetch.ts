import type { ClientFetch } from '../../client/client.ts'

export function recordedFetch(): { fetch: ClientFetch; sent: { url: URL; init: RequestInit }[] } {
  const sent: { url: URL; init: RequestInit }[] = []
  const fetch: ClientFetch = (url, init) => {
    sent.push({ url: new URL(url), init })
    return globalThis.fetch(url, init)
  }
  return { fetch, sent }
}
