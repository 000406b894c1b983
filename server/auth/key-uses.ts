import type { EpochMs } from '../kernel/clock.ts'
import type { Logger } from '../kernel/logger.ts'
import type { Store } from '../store/store.ts'

const flushMs = 10_000

/** Remembers when each key was last used and writes that in batches: a write per request would double the work. */
export class KeyUses {
  readonly #store: Store
  readonly #log: Logger
  readonly #timer: NodeJS.Timeout
  #uses = new Map<string, EpochMs>()

  constructor({ store, log }: { store: Store; log: Logger }) {
    this.#store = store
    this.#log = log
    this.#timer = setInterval(() => void this.flush(), flushMs)
    this.#timer.unref()
  }

  used(keyId: string, at: EpochMs): void {
    this.#uses.set(keyId, at)
  }

  async flush(): Promise<void> {
    if (this.#uses.size === 0) return
    const uses = [...this.#uses].map(([keyId, at]) => ({ keyId, at }))
    this.#uses = new Map()
    await this.#store.touchKeys(uses).catch((error: unknown) => {
      this.#log.warn({ err: error }, 'the last use of keys could not be recorded')
    })
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.flush()
  }
}
