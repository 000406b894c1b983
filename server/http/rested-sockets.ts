import type { Socket } from 'node:net'

const restMs = 100
const wakeEveryMs = 20
const wakenMax = 256

type Rest = { socket: Socket; untilMs: number }

/**
 * Connections that were refused are not read for a moment. Without that, clients that try again at once keep the event
 * loop in its polling phase, which ends only when fewer than 1024 sockets are ready: commits and timers wait for seconds,
 * and with them the requests that were let in. So they are read again a few at a time, in the order they were refused.
 */
export class RestedSockets {
  #queue: Rest[] = []
  #at = 0
  #isWaking = false

  rest(socket: Socket): void {
    socket.pause()
    this.#queue.push({ socket, untilMs: performance.now() + restMs })
    if (this.#isWaking) return
    this.#isWaking = true
    setTimeout(this.#wake, restMs).unref()
  }

  readonly #wake = (): void => {
    const now = performance.now()
    const end = Math.min(this.#queue.length, this.#at + wakenMax)
    while (this.#at < end && this.#queue[this.#at]!.untilMs <= now) this.#queue[this.#at++]!.socket.resume()
    if (this.#at * 2 >= this.#queue.length) {
      this.#queue = this.#queue.slice(this.#at)
      this.#at = 0
    }
    this.#isWaking = this.#queue.length > 0
    if (this.#isWaking) setTimeout(this.#wake, wakeEveryMs).unref()
  }
}
