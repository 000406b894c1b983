import { formatUsd, type Units } from '../kernel/money.ts'

/** Prices per event of a metered task, and the maximum total. */
export type Metering = { prices: Readonly<Record<string, Units>>; cap: Units }

/** Number of events by name. */
export type Usage = Record<string, number>

/** Counts the events of one run exactly, and never beyond the cap. */
export class EventCharges {
  readonly #prices: Metering['prices']
  readonly #counts = new Map<string, number>()
  #left: Units

  constructor({ cap, prices }: Metering) {
    this.#prices = prices
    this.#left = cap
  }

  /**
   * Charges as many of the events as fit within the cap, and returns their number. Throws for an unknown event or an
   * invalid count.
   */
  charge(event: string, count: number): number {
    if (typeof event !== 'string' || !Object.hasOwn(this.#prices, event)) {
      const known = Object.keys(this.#prices).join(', ')
      throw new TypeError(`charge: the endpoint has no price for this event. It must be one of ${known}`)
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

/** Returns the price of these events, each of which has one. */
export function costOfEvents(usage: Usage, prices: Metering['prices']): Units {
  return Object.entries(usage).reduce((sum, [event, count]) => sum + count * (prices[event] ?? 0), 0)
}

/** Returns the pricing in the format that clients and agent services receive. */
export function writtenPricing({ cap, prices }: Metering): { events: Record<string, string>; maxUsd: string } {
  const events = Object.entries(prices).map(([event, price]) => [event, formatUsd(price)])
  return { events: Object.fromEntries(events) as Record<string, string>, maxUsd: formatUsd(cap) }
}

/** Returns the chargeable part of the usage that a run reports: at most the cap, and nothing for an invalid count. */
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
