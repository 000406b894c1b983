import { must } from '../../server/kernel/assert.ts'
import type { Answer, TestService } from '../support/test-service.ts'

// Simulates a browser, which stores and sends cookies and sets origin headers.

type BrowserOptions = {
  /** Origin of the open page. Default: the service's origin. */
  origin?: string
  userAgent?: string
}

type BrowserRequest = {
  body?: unknown
  /** Overrides the browser's own headers. */
  headers?: Record<string, string>
  /** Omits the headers that state the origin. */
  isBare?: boolean
}

export type Credentials = { email: string; password: string }

export const password = 'correct horse battery'

export class Browser {
  readonly cookies = new Map<string, string>()
  readonly #service: TestService
  readonly #origin: string
  readonly #userAgent: string

  constructor(service: TestService, { origin = service.url, userAgent = 'Browser/1.0' }: BrowserOptions = {}) {
    this.#service = service
    this.#origin = origin
    this.#userAgent = userAgent
  }

  static async loggedIn(service: TestService, credentials: Credentials, options?: BrowserOptions): Promise<Browser> {
    const browser = new Browser(service, options)
    const answer = await browser.logIn(credentials)
    if (answer.status !== 200) throw new Error(`not logged in: ${answer.status} ${JSON.stringify(answer.body)}`)
    return browser
  }

  get cookieHeader(): string {
    return [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  }

  get token(): string {
    return must(this.cookies.get('errand') ?? this.cookies.get('__Host-errand'), 'a login')
  }

  async request(method: string, path: string, { body, headers, isBare = false }: BrowserRequest = {}): Promise<Answer> {
    const isRead = method === 'GET' || method === 'HEAD'
    const answer = await this.#service.request(method, path, {
      body,
      headers: {
        'User-Agent': this.#userAgent,
        ...(this.cookies.size > 0 && { Cookie: this.cookieHeader }),
        ...(!isBare && { 'Sec-Fetch-Site': 'same-origin', ...(!isRead && { Origin: this.#origin }) }),
        ...headers,
      },
    })
    for (const line of answer.headers.getSetCookie()) this.#keep(line)
    return answer
  }

  get(path: string): Promise<Answer> {
    return this.request('GET', path)
  }

  post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    return this.request('POST', path, { body, headers })
  }

  delete(path: string): Promise<Answer> {
    return this.request('DELETE', path)
  }

  logIn(credentials: Credentials): Promise<Answer> {
    return this.post('/api/login', credentials)
  }

  logInOverRpc(credentials: Credentials): Promise<Answer> {
    return this.post('/trpc/login.create', { json: credentials })
  }

  /** Returns the status of an authenticated read. */
  async status(): Promise<number> {
    return (await this.get('/api/account')).status
  }

  async logins(): Promise<any[]> {
    return (await this.get('/api/logins')).body.logins
  }

  #keep(line: string): void {
    const [, name = '', value = '', rest = ''] = /^([^=]+)=([^;]*)(.*)$/.exec(line) ?? []
    if (/;\s*max-age=0(?:;|$)/i.test(rest)) this.cookies.delete(name)
    else this.cookies.set(name, value)
  }
}
