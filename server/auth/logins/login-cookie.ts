import type { IncomingMessage } from 'node:http'
import type { OwnOrigins } from './own-origin.ts'

/**
 * Over https, the cookie's name begins with `__Host-`. Browsers accept such a cookie only over https, from this host
 * and for all paths. Over http on the local machine, the name has no prefix.
 */
export class ServiceCookie {
  readonly #name: string
  readonly #origins: OwnOrigins

  constructor(name: string, origins: OwnOrigins) {
    this.#name = name
    this.#origins = origins
  }

  get name(): string {
    return this.#origins.isSecure ? `__Host-${this.#name}` : this.#name
  }

  /** Returns undefined if the cookie is absent, and an empty string if it was sent twice, which browsers never do. */
  read({ headers }: IncomingMessage): string | undefined {
    if (headers.cookie === undefined) return undefined
    const start = `${this.name}=`
    const found = headers.cookie.split(/; ?/).filter((pair) => pair.startsWith(start))
    if (found.length === 0) return undefined
    return found.length === 1 ? found[0]!.slice(start.length) : ''
  }

  /**
   * Returns a Set-Cookie value. HttpOnly hides the cookie from scripts, and SameSite=Lax excludes it from cross-site
   * requests.
   */
  write(value: string, maxAgeSeconds: number): string {
    const secure = this.#origins.isSecure ? '; Secure' : ''
    return `${this.name}=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${maxAgeSeconds}${secure}`
  }

  remove(): string {
    return this.write('', 0)
  }
}

export const loginCookieName = 'errand'
