import type { EpochMs } from '../kernel/clock.ts'
import type { Logger } from '../kernel/logger.ts'
import { lastAddressesMax, type AddressUse } from '../store/platform/platform-types.ts'
import type { Store } from '../store/store.ts'

const flushMs = 10_000

type Use = { id: string; at: EpochMs; addresses: AddressUse[] }
type Write = (uses: Use[]) => Promise<void>
type LastUsesParts = {
  /** Type of the credential, for log messages. */
  what: string
  write: Write
  log: Logger
}

/** Batches the last uses of credentials. Writing them for each request would double the database load. */
export class LastUses {
  readonly #parts: LastUsesParts
  readonly #timer: NodeJS.Timeout
  #uses = new Map<string, { at: EpochMs; addresses: Map<string, EpochMs> }>()

  constructor(parts: LastUsesParts) {
    this.#parts = parts
    this.#timer = setInterval(() => void this.flush(), flushMs)
    this.#timer.unref()
  }

  used(id: string, at: EpochMs, address = ''): void {
    const { addresses } = this.#uses.get(id) ?? { addresses: new Map<string, EpochMs>() }
    this.#uses.set(id, { at, addresses })
    if (address === '') return
    // Insert again, so that the map is ordered by last use.
    addresses.delete(address)
    addresses.set(address, at)
    if (addresses.size > lastAddressesMax) addresses.delete(addresses.keys().next().value!)
  }

  async flush(): Promise<void> {
    if (this.#uses.size === 0) return
    const uses = [...this.#uses].map(([id, { at, addresses }]) => ({
      id,
      at,
      addresses: [...addresses].map(([address, lastAt]) => ({ address, at: lastAt })),
    }))
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
  const write: Write = (uses) => store.platform.touchKeys(uses.map(({ id, ...use }) => ({ keyId: id, ...use })))
  return new LastUses({ what: 'platform keys', write, log })
}

export function lastLoginUses(store: Store, log: Logger): LastUses {
  const write: Write = (uses) => store.touchLogins(uses.map(({ at, id }) => ({ loginId: id, at })))
  return new LastUses({ what: 'logins', write, log })
}
