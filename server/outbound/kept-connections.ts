import { Agent, type RequestOptions } from 'node:http'
import type { Duplex } from 'node:stream'
import { must } from '../kernel/assert.ts'
import { dial, type Dial } from './dial.ts'

/**
 * How long an idle connection waits for the next request. Servers close idle connections: Node and uvicorn after five
 * seconds, most others later. A request that is sent just as the server closes the connection fails. It is not retried,
 * because the server may have executed it and a tool would run twice. Node's agent waits for a shorter time if the
 * server announces a shorter timeout.
 */
const idleMs = 4000

/** Keeps connections to one origin alive for later requests. Every connection comes from `dial`. */
export class KeptConnections extends Agent {
  readonly #dial: Omit<Dial, 'signal'>

  constructor(options: Omit<Dial, 'signal'>) {
    super({ keepAlive: true, timeout: idleMs })
    this.#dial = options
  }

  /** Passes the connection to Node only once it is established and checked, so that no request is written before. */
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
      // An abort reason may be any value. Node does not read the stream if there is an error.
      done(error instanceof Error ? error : new Error('The request was stopped.'), undefined as never)
    }
  }
}
