import type { ClientFetch } from '../../client/client.ts'

const simpleHeaders = new Set(['accept', 'accept-language', 'content-language'])
const simpleResponseHeaders = new Set([
  'cache-control',
  'content-language',
  'content-length',
  'content-type',
  'expires',
])

/**
 * Fetches like a browser for a page of another origin: sends a preflight, rejects whatever the server did not allow,
 * and exposes only permitted response headers.
 */
export function createBrowserFetch(origin: string): { fetch: ClientFetch; preflights: string[] } {
  const preflights: string[] = []
  const fetchCrossOrigin: ClientFetch = async (url, init) => {
    const headers = new Headers(init.headers)
    const { method = 'GET' } = init
    const unsafe = [...headers.keys()].filter((name) => !simpleHeaders.has(name)).toSorted()
    preflights.push(`${method} ${unsafe.join(', ')}`)
    await preflight(url, { origin, method, unsafe })
    headers.set('Origin', origin)
    const response = await fetch(url, { ...init, headers })
    if (response.headers.get('access-control-allow-origin') !== '*') throw new TypeError('Failed to fetch')
    const exposed = new Set(list(response.headers.get('access-control-expose-headers')))
    const visible = [...response.headers].filter(([name]) => simpleResponseHeaders.has(name) || exposed.has(name))
    return new Response(await response.text(), { status: response.status, headers: visible })
  }
  return { fetch: fetchCrossOrigin, preflights }
}

async function preflight(
  url: string,
  { origin, method, unsafe }: { origin: string; method: string; unsafe: string[] },
): Promise<void> {
  const answer = await fetch(url, {
    method: 'OPTIONS',
    headers: {
      Origin: origin,
      'Access-Control-Request-Method': method,
      'Access-Control-Request-Headers': unsafe.join(','),
    },
  })
  const methods = list(answer.headers.get('access-control-allow-methods'))
  const headers = list(answer.headers.get('access-control-allow-headers'))
  const isAllowed =
    answer.ok &&
    answer.headers.get('access-control-allow-origin') === '*' &&
    methods.includes(method.toLowerCase()) &&
    unsafe.every((name) => headers.includes(name))
  if (!isAllowed) throw new TypeError('Failed to fetch')
}

function list(header: string | null): string[] {
  return (header ?? '').split(',').map((item) => item.trim().toLowerCase())
}
