import type { Socket } from 'node:net'

const restMs = 100
const wakeEveryMs = 20
/**
 * Number of connections to resume per millisecond, about a thousand in `restMs`. `wakenMax` limits one step, so that
 * the event loop still processes its timers.
 */
const wakenPerMs = 13
const wakenMax = 512

type Rest = { socket: Socket; untilMs: number }

/**
 * Pauses reading from rejected connections. Otherwise, clients that retry immediately keep the event loop in its
 * polling phase, which ends only when fewer than 1024 sockets are ready. Commits, timers and admitted requests would
 * then wait for seconds. Reading resumes for a few connections at a time, in the order of their rejection.
 */
export class RestedSockets {
  #queue: Rest[] = []
  #at = 0
  #isWaking = false
  #wokeAt = 0
  readonly #resting = new WeakSet<Socket>()

  rest(socket: Socket): void {
    if (socket.destroyed || this.#resting.has(socket)) return
    const now = performance.now()
    this.#resting.add(socket)
    socket.pause()
    this.#queue.push({ socket, untilMs: now + restMs })
    if (this.#isWaking) return
    this.#isWaking = true
    this.#wokeAt = now
    setTimeout(this.#wake, restMs).unref()
  }

  readonly #wake = (): void => {
    const now = performance.now()
    let left = Math.min(wakenMax, Math.ceil((now - this.#wokeAt) * wakenPerMs))
    this.#wokeAt = now
    while (left > 0 && this.#at < this.#queue.length && this.#queue[this.#at]!.untilMs <= now) {
      const { socket } = this.#queue[this.#at++]!
      this.#resting.delete(socket)
      if (socket.destroyed) continue
      socket.resume()
      left--
    }
    if (this.#at * 2 >= this.#queue.length) {
      this.#queue = this.#queue.slice(this.#at)
      this.#at = 0
    }
    this.#isWaking = this.#queue.length > 0
    if (this.#isWaking) setTimeout(this.#wake, wakeEveryMs).unref()
  }
}
