import { flushSync } from 'react-dom'

/** Rendering takes at most one fifth of the time. */
const restFactor = 4
const pauseMsMin = 50

/**
 * Renders frequent changes in animation frames. The longer a render takes, the longer the pause after it, so that the
 * page stays responsive. A hidden page renders nothing until `finish`.
 */
export class PaintLoop {
  readonly #paint: () => void
  #frame: number | undefined
  #notBefore = 0

  constructor(paint: () => void) {
    this.#paint = paint
  }

  request(): void {
    this.#frame ??= requestAnimationFrame(this.#onFrame)
  }

  /** Stops rendering; the caller renders the final state. */
  finish(): void {
    if (this.#frame !== undefined) cancelAnimationFrame(this.#frame)
    this.#frame = undefined
  }

  readonly #onFrame = (): void => {
    this.#frame = undefined
    const startedAt = performance.now()
    if (startedAt < this.#notBefore) return this.request()
    flushSync(this.#paint)
    const endedAt = performance.now()
    this.#notBefore = endedAt + Math.max(pauseMsMin, (endedAt - startedAt) * restFactor)
  }
}

/** Yields to input, rendering and timers. Unlike a timer, it is not throttled in hidden pages. */
export function nextTask(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel()
    port1.addEventListener(
      'message',
      () => {
        port1.close()
        resolve()
      },
      { once: true },
    )
    port1.start()
    port2.postMessage(null)
  })
}
