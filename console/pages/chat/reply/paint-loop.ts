import { flushSync } from 'react-dom'

/** Of all the time, at most the fifth part is spent on rendering what came. */
const restFactor = 4
const pauseMsMin = 50

/**
 * Paints what changes often: in an animation frame, and the less often the longer a painting takes, so that the page
 * keeps answering. A hidden page paints nothing until `finish`.
 */
export class PaintLoop {
  readonly #paint: () => void
  #frame: number | undefined
  #notBefore = 0

  constructor(paint: () => void) {
    this.#paint = paint
  }

  /** There is something new. */
  request(): void {
    this.#frame ??= requestAnimationFrame(this.#onFrame)
  }

  /** Paints no more; the caller shows the last state itself. */
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

/** Until the browser has done what waits: input, painting, timers. Unlike a timer's, its pace holds in a hidden page. */
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
