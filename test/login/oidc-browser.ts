import { request } from 'node:http'

export type Page = {
  /** The last URL opened. */
  url: URL
  status: number
  headers: Record<string, string | string[] | undefined>
  text: string
  setCookies: string[]
  /** Target of a redirect that was not followed. */
  next: URL | undefined
}

type BrowserOptions = {
  /** The user as seen by the provider. */
  person?: string
  /** Local port that serves a fictional origin such as `https://errand.example`. */
  ports?: Record<string, string>
}

type Visit = { method?: string; headers?: Record<string, string>; until?: (next: URL) => boolean }
type Cookie = { name: string; value: string; host: string; path: string; isSecure: boolean }

const redirectsMax = 20

/** A headless browser that stores cookies by host, path and scheme, and follows redirects. */
export class TestBrowser {
  cookies: Cookie[] = []
  readonly #options: BrowserOptions

  constructor(options: BrowserOptions = {}) {
    this.#options = options
  }

  /** Opens a URL and follows redirects until one matches `until`. */
  async visit(address: string | URL, { until = () => false, ...options }: Visit = {}): Promise<Page> {
    let page = await this.#open(new URL(address), options)
    for (let hops = 0; page.next && !until(page.next); hops++) {
      if (hops === redirectsMax) throw new Error(`too many redirects, the last to ${page.next.href}`)
      page = await this.#open(page.next, { ...options, method: 'GET' })
    }
    return page
  }

  /** Opens one URL and does not follow redirects. */
  step(address: string | URL, options: Visit = {}): Promise<Page> {
    return this.visit(address, { ...options, until: () => true })
  }

  cookie(name: string): string | undefined {
    return this.cookies.find((cookie) => cookie.name === name)?.value
  }

  alter(name: string, change: (value: string) => string): void {
    for (const cookie of this.cookies) if (cookie.name === name) cookie.value = change(cookie.value)
  }

  async #open(url: URL, { headers, method = 'GET' }: Visit): Promise<Page> {
    const own = this.#cookiesFor(url)
    const { person, ports } = this.#options
    const page = await send(url, {
      method,
      port: ports?.[url.origin] ?? url.port,
      headers: {
        host: url.host,
        'user-agent': 'Test browser',
        ...(own !== '' && { cookie: own }),
        ...(person !== undefined && { 'x-person': person }),
        ...headers,
      },
    })
    for (const line of page.setCookies) this.#keep(line, url)
    return page
  }

  #cookiesFor({ hostname, pathname, protocol }: URL): string {
    const sent = this.cookies.filter(
      ({ host, isSecure, path }) =>
        host === hostname && pathname.startsWith(path) && (!isSecure || protocol === 'https:'),
    )
    return sent.map(({ name, value }) => `${name}=${value}`).join('; ')
  }

  #keep(line: string, { hostname, protocol }: URL): void {
    const [pair = '', ...attributes] = line.split(/; ?/)
    const name = pair.slice(0, pair.indexOf('='))
    const given = new Map(attributes.map((text) => [text.split('=')[0]!.toLowerCase(), text.split('=')[1] ?? '']))
    const path = given.get('path') ?? '/'
    const isSecure = given.has('secure')
    if (isSecure && protocol !== 'https:') return
    if (name.startsWith('__Host-') && !(isSecure && path === '/' && !given.has('domain'))) return
    this.cookies = this.cookies.filter(
      (cookie) => cookie.name !== name || cookie.host !== hostname || cookie.path !== path,
    )
    const isOver = given.get('max-age') === '0' || Date.parse(given.get('expires') ?? '') < Date.now()
    if (!isOver) this.cookies.push({ name, value: pair.slice(name.length + 1), host: hostname, path, isSecure })
  }
}

type Sent = { method: string; port: string; headers: Record<string, string> }

function send(url: URL, { headers, method, port }: Sent): Promise<Page> {
  return new Promise((resolve, reject) => {
    const path = url.pathname + url.search
    const sent = request({ host: '127.0.0.1', port, method, path, headers, agent: false }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        const { location } = response.headers
        resolve({
          url,
          status: response.statusCode!,
          headers: response.headers,
          text: Buffer.concat(chunks).toString(),
          setCookies: response.headers['set-cookie'] ?? [],
          next: location === undefined ? undefined : new URL(location, url),
        })
      })
    })
    sent.on('error', reject)
    sent.end()
  })
}
