import { formatUsd, type Units } from '../kernel/money.ts'

export type Metering = { prices: Readonly<Record<string, Units>>; cap: Units }

export type Usage = Record<string, number>

/** Counts the billable events of one run, and stops at the cap. */
export class EventCharges {
  readonly #prices: Metering['prices']
  readonly #counts = new Map<string, number>()
  #left: Units

  constructor({ cap, prices }: Metering) {
    this.#prices = prices
    this.#left = cap
  }

  /**
   * Charges as many of the `count` events as fit within the cap, and returns how many were charged. Throws for an
   * unknown event or an invalid count.
   */
  charge(event: string, count: number): number {
    if (typeof event !== 'string' || !Object.hasOwn(this.#prices, event)) {
      const known = Object.keys(this.#prices).join(', ')
      throw new TypeError(`charge: the endpoint does not have a price for this event. Use one of ${known}`)
    }
    if (!Number.isSafeInteger(count) || count < 0) {
      throw new TypeError('charge: the count must be a whole number, 0 or more')
    }
    const price = this.#prices[event]!
    const taken = Math.min(count, Math.floor(this.#left / price))
    this.#left -= taken * price
    this.#counts.set(event, (this.#counts.get(event) ?? 0) + taken)
    return taken
  }

  get usage(): Usage {
    return Object.fromEntries([...this.#counts].filter(([, count]) => count > 0))
  }
}

export function costOfEvents(usage: Usage, prices: Metering['prices']): Units {
  return Object.entries(usage).reduce((sum, [event, count]) => sum + count * (prices[event] ?? 0), 0)
}

export function writtenPricing({ cap, prices }: Metering): { events: Record<string, string>; maxUsd: string } {
  const events = Object.entries(prices).map(([event, price]) => [event, formatUsd(price)])
  return { events: Object.fromEntries(events) as Record<string, string>, maxUsd: formatUsd(cap) }
}

/**
 * Checks the usage that a run reports. Ignores invalid counts and limits the total to the cap. `isAsClaimed` is false
 * if the claim is missing or was not accepted in full.
 */
export function boundUsage(claimed: unknown, metering: Metering): { usage: Usage; isAsClaimed: boolean } {
  const charges = new EventCharges(metering)
  const entries = Object.entries(claimed ?? {}) as [string, number][]
  let isAsClaimed = claimed !== undefined
  for (const [event, count] of entries) {
    try {
      if (charges.charge(event, count) !== count) isAsClaimed = false
    } catch {
      isAsClaimed = false
    }
  }
  return { usage: charges.usage, isAsClaimed }
}
