import { Agent, type RequestOptions } from 'node:http'
import type { Duplex } from 'node:stream'
import { must } from '../kernel/assert.ts'
import { dial, type Dial } from './dial.ts'

/**
 * How long a connection waits for a next request. A server closes one that idles (Node's own and uvicorn after five
 * seconds, most others later), and a request that crosses with that is lost: nobody can tell whether it was carried
 * out, so it is not repeated, as a tool would run twice. Node's agent takes less where the server announces less.
 */
const idleMs = 4000

/** Keeps the connections to one origin for a next request. Every one of them was made by `dial`. */
export class KeptConnections extends Agent {
  readonly #dial: Omit<Dial, 'signal'>

  constructor(options: Omit<Dial, 'signal'>) {
    super({ keepAlive: true, timeout: idleMs })
    this.#dial = options
  }

  /** The request is given its connection only once that stands and is checked, so before there is none to write to. */
  override createConnection(
    { stop }: RequestOptions & { stop?: AbortSignal },
    callback?: (error: Error | null, stream: Duplex) => void,
  ): undefined {
    void this.#provide(must(stop, 'a request has a signal'), must(callback, 'the agent asks with a callback'))
    return undefined
  }

  async #provide(signal: AbortSignal, done: (error: Error | null, stream: Duplex) => void): Promise<void> {
    try {
      done(null, await dial({ ...this.#dial, signal }))
    } catch (error) {
      // The reason of a signal may be anything. Node reads no stream beside an error.
      done(error instanceof Error ? error : new Error('The request was stopped.'), undefined as never)
    }
  }
}
