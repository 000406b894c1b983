import { flushSync } from 'react-dom'

/**
 * Each pause is at least this many times as long as the previous render, so that rendering takes at most a fifth of the
 * time.
 */
const restFactor = 4
const pauseMsMin = 50

/**
 * Renders frequent changes in animation frames. A slow render is followed by a longer pause, so that the page stays
 * responsive. Hidden pages get no animation frames and render nothing until `finish`.
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

/** Yields to input, rendering and timers. Unlike a timer, this is not throttled in hidden pages. */
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
