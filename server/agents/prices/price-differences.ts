import type { ListedPrice } from './price-list.ts'

/** A rate that differs between two price lists. `from` or `to` is null if that list has no such rate. */
export type Difference = { model: string; name: string; from: string | null; to: string | null }

type Prices = ReadonlyMap<string, ListedPrice>

export function differencesOf(before: Prices, after: Prices): Difference[] {
  return [...after].flatMap(([model, price]) => {
    const [old, now] = [ratesIn(before.get(model)), ratesIn(price)]
    const names = [...new Set([...old.keys(), ...now.keys()])]
    return names.flatMap((name) => {
      const [from, to] = [old.get(name) ?? null, now.get(name) ?? null]
      return from === to ? [] : [{ model, name, from, to }]
    })
  })
}

function ratesIn(price: ListedPrice | undefined): Map<string, string> {
  const { longContext, ...rates } = price ?? {}
  const long = Object.entries(longContext ?? {}).map(([name, value]) => [`longContext.${name}`, String(value)] as const)
  return new Map([...Object.entries(rates), ...long] as [string, string][])
}
