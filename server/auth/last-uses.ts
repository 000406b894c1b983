import type { EpochMs } from '../kernel/clock.ts'
import type { Logger } from '../kernel/logger.ts'
import type { Store } from '../store/store.ts'

const flushMs = 10_000

type Write = (uses: { id: string; at: EpochMs }[]) => Promise<void>
type LastUsesParts = {
  /** Type of the credential, for log messages. */
  what: string
  write: Write
  log: Logger
}

/** Batches the last-use times of credentials. Writing them for each request would double the database load. */
export class LastUses {
  readonly #parts: LastUsesParts
  readonly #timer: NodeJS.Timeout
  #uses = new Map<string, EpochMs>()

  constructor(parts: LastUsesParts) {
    this.#parts = parts
    this.#timer = setInterval(() => void this.flush(), flushMs)
    this.#timer.unref()
  }

  used(id: string, at: EpochMs): void {
    this.#uses.set(id, at)
  }

  async flush(): Promise<void> {
    if (this.#uses.size === 0) return
    const uses = [...this.#uses].map(([id, at]) => ({ id, at }))
    this.#uses = new Map()
    const { log, what, write } = this.#parts
    await write(uses).catch((error: unknown) => log.warn({ err: error }, `could not record the last use of ${what}`))
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.flush()
  }
}

export function lastKeyUses(store: Store, log: Logger): LastUses {
  const write: Write = (uses) => store.touchKeys(uses.map(({ at, id }) => ({ keyId: id, at })))
  return new LastUses({ what: 'keys', write, log })
}

export function lastPlatformUses(store: Store, log: Logger): LastUses {
  const write: Write = (uses) => store.platform.touchKeys(uses.map(({ at, id }) => ({ keyId: id, at })))
  return new LastUses({ what: 'platform keys', write, log })
}

export function lastLoginUses(store: Store, log: Logger): LastUses {
  const write: Write = (uses) => store.touchLogins(uses.map(({ at, id }) => ({ loginId: id, at })))
  return new LastUses({ what: 'logins', write, log })
}
