import { Agent, type RequestOptions } from 'node:http'
import type { Duplex } from 'node:stream'
import { must } from '../kernel/assert.ts'
import { dial, type Dial } from './dial.ts'

/**
 * Maximum idle time of a connection. Common servers close idle connections later: Node and uvicorn after five seconds,
 * most others later still. If the server closes the connection just as a request is sent, the request fails. It is not
 * retried, because the server may have processed it, and a tool could run twice. If the server announces a shorter
 * timeout, Node's agent respects it.
 */
const idleMs = 4000

/** Agent that reuses connections to one origin. `dial` opens every connection. */
export class KeptConnections extends Agent {
  readonly #dial: Omit<Dial, 'signal'>

  constructor(options: Omit<Dial, 'signal'>) {
    super({ keepAlive: true, timeout: idleMs })
    this.#dial = options
  }

  /** Passes the connection to Node only once it is established and checked, so that no request is written earlier. */
  override createConnection(
    { stop }: RequestOptions & { stop?: AbortSignal },
    callback?: (error: Error | null, stream: Duplex) => void,
  ): undefined {
    void this.#provide(must(stop, 'a request has a signal'), must(callback, 'the agent passes a callback'))
    return undefined
  }

  async #provide(signal: AbortSignal, done: (error: Error | null, stream: Duplex) => void): Promise<void> {
    try {
      done(null, await dial({ ...this.#dial, signal }))
    } catch (error) {
      // An abort reason may not be an Error. Node ignores the second argument if the first is set.
      done(error instanceof Error ? error : new Error('The request was stopped.'), undefined as never)
    }
  }
}
