import type { IncomingMessage } from 'node:http'
import { ErrandError } from '../../kernel/errors.ts'

const loopbackHosts = new Set(['localhost', '127.0.0.1', '[::1]'])

/**
 * Origins that browsers can use to reach the service: the base URL's origin and, for a loopback URL, the origins of the
 * other loopback host names. The Host header only selects one of them.
 */
export class OwnOrigins {
  readonly #baseUrl: () => string
  #known: { baseUrl: string; origin: string; all: ReadonlySet<string> } | undefined

  constructor(baseUrl: () => string) {
    this.#baseUrl = baseUrl
  }

  of({ headers }: IncomingMessage): string {
    const { all, origin } = this.#origins()
    const asked = `${new URL(origin).protocol}//${headers.host ?? ''}`
    return all.has(asked) ? asked : origin
  }

  baseUrlFor(request: IncomingMessage): string {
    const { baseUrl, origin } = this.#origins()
    return this.of(request) + baseUrl.slice(origin.length)
  }

  has(origin: string): boolean {
    return this.#origins().all.has(origin)
  }

  get isSecure(): boolean {
    return this.#origins().origin.startsWith('https:')
  }

  /** Whether a login cookie can be sent safely: over https or within the local machine. */
  get mayLogIn(): boolean {
    const { origin } = this.#origins()
    return origin.startsWith('https:') || isLoopback(origin)
  }

  /**
   * Throws 403 unless one of our pages sent the request. Browsers set Sec-Fetch-Site and Origin, and pages cannot
   * change them. A request with neither header does not come from a page.
   */
  assert({ headers }: IncomingMessage): void {
    const { origin, 'sec-fetch-site': site } = headers
    const { all } = this.#origins()
    const isOwn = origin === undefined || all.has(origin)
    if (isOwn && (site === undefined ? origin !== undefined : site === 'same-origin')) return
    throw new ErrandError(
      'FORBIDDEN',
      `A browser login works only from pages of ${this.#origins().origin}. In programs, use an API key.`,
    )
  }

  #origins() {
    const baseUrl = this.#baseUrl()
    if (this.#known?.baseUrl === baseUrl) return this.#known
    const { origin, port, protocol } = new URL(baseUrl)
    const others = isLoopback(origin)
      ? [...loopbackHosts].map((host) => `${protocol}//${host}${port === '' ? '' : `:${port}`}`)
      : []
    return (this.#known = { baseUrl, origin, all: new Set([origin, ...others]) })
  }
}

function isLoopback(origin: string): boolean {
  const { hostname } = new URL(origin)
  return loopbackHosts.has(hostname) || /^127\.\d+\.\d+\.\d+$/.test(hostname)
}
