import { Agent, request, type IncomingHttpHeaders } from 'node:http'

export type SimCredential = { kind: 'key' | 'login'; token: string }

/** `status` is 0 if the connection ended without a response. */
// The shape of a body is what the tests are about.
// oxlint-disable-next-line typescript/no-explicit-any
export type SimAnswer = { status: number; headers: IncomingHttpHeaders; body: any; text: string }

type SimRequest = {
  method?: string
  path: string
  credential?: SimCredential | null
  body?: unknown
  headers?: Record<string, string>
}

export function credentialHeaders(origin: string, credential: SimCredential | null): Record<string, string> {
  if (!credential) return {}
  if (credential.kind === 'key') return { Authorization: `Bearer ${credential.token}` }
  return { Cookie: `errand=${credential.token}`, Origin: origin, 'Sec-Fetch-Site': 'same-origin' }
}

/** HTTP client for one start of the service, with keep-alive. */
export class SimClient {
  readonly url: string
  /** The service's origin as it appears to browsers and in links. */
  readonly origin: string
  /** Set while the service is stopping or gone. Requests may then stay unanswered. */
  isDown = false
  /**
   * Set after a crash. Code of the crashed service that still runs in this process may answer from an empty database.
   * Such responses are ignored, because a dead process could not send them.
   */
  isKilled = false
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 64 })

  constructor({ origin, url }: { url: string; origin: string }) {
    this.url = url
    this.origin = origin
  }

  send({ body, credential = null, headers, method = 'GET', path }: SimRequest): Promise<SimAnswer> {
    const text = body === undefined ? undefined : JSON.stringify(body)
    return new Promise((resolve) => {
      const lost = () => resolve({ status: 0, headers: {}, body: undefined, text: '' })
      const sent = request(
        this.url + (path.startsWith(this.origin) ? path.slice(this.origin.length) : path),
        {
          method,
          agent: this.#agent,
          headers: {
            ...credentialHeaders(this.origin, credential),
            ...(text !== undefined && {
              'Content-Type': 'application/json',
              'Content-Length': String(Buffer.byteLength(text)),
            }),
            ...headers,
          },
        },
        (response) => {
          const chunks: Buffer[] = []
          response.on('data', (chunk: Buffer) => chunks.push(chunk))
          response.on('error', lost)
          response.on('close', lost)
          response.on('end', () => {
            if (!response.complete) return lost()
            if (this.isKilled) return lost()
            const received = Buffer.concat(chunks).toString()
            const isJson = response.headers['content-type']?.startsWith('application/json') === true
            const parsed: unknown = isJson && received !== '' ? JSON.parse(received) : undefined
            resolve({ status: response.statusCode!, headers: response.headers, body: parsed, text: received })
          })
        },
      )
      sent.on('error', lost)
      sent.end(text)
    })
  }

  /** Closes all connections. Requests in flight stay unanswered. */
  cut(): void {
    this.isDown = true
    this.#agent.destroy()
  }
}
