type Fetch = (url: string, init: RequestInit) => Promise<Response>

export type KeySource = () => string | Promise<string>

/**
 * Sends each request with the key that `getKey` last returned. After a 401, calls `getKey` again and repeats the
 * request once. Concurrent requests share one call to `getKey`.
 */
export function withRenewedKey(fetch: Fetch, getKey: () => Promise<string>): Fetch {
  let current: Promise<string> | undefined

  async function send(url: string, init: RequestInit, key: Promise<string>): Promise<Response> {
    const headers = { ...(init.headers as Record<string, string>), authorization: `Bearer ${await key}` }
    return await fetch(url, { ...init, headers })
  }

  function renew(): Promise<string> {
    const key = getKey()
    current = key
    // Do not cache a failure.
    key.catch(() => {
      if (current === key) current = undefined
    })
    return key
  }

  return async (url, init) => {
    const key = current ?? renew()
    const response = await send(url, init, key)
    if (response.status !== 401) return response
    await response.body?.cancel()
    return await send(url, init, current === undefined || current === key ? renew() : current)
  }
}
