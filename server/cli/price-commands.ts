import { existsSync, writeFileSync } from 'node:fs'
import { UsageError } from '../kernel/usage-error.ts'
import { PriceListError, writePriceList, type ListedPrice } from '../agents/prices/price-list.ts'
import { openPriceList } from '../agents/prices/price-lists.ts'
import { differencesOf, type Difference } from '../agents/prices/price-differences.ts'
import { print } from './open-store.ts'

type Options = { list: string; json?: boolean }
type Prices = ReadonlyMap<string, ListedPrice>

/** Prints the prices of the project's list: of the given models, or all. */
export async function showPrices(models: readonly string[], options: Options): Promise<void> {
  const { prices, version } = open(options.list)
  const chosen = models.length === 0 ? prices : pick(prices, models, options.list)
  const lines = [...chosen].map(([model, price]) => `${model}  ${describe(price)}`)
  print(options, { version, models: Object.fromEntries(chosen) }, lines.join('\n'))
}

/** Prints how the prices in `file` differ from the project's list. */
export async function diffPrices(file: string, models: readonly string[], options: Options): Promise<void> {
  const { differences } = compare(file, models, options)
  print(options, { differences }, report(differences, options.list))
}

/** Prints the differences, then writes them to the project's list. */
export async function importPrices(file: string, models: readonly string[], options: Options): Promise<void> {
  const { differences, merged } = compare(file, models, options)
  const verdict = differences.length === 0 ? '' : `\nWrote ${options.list}. Running services use it after a restart.`
  if (differences.length > 0) writeFileSync(options.list, writePriceList(merged))
  print(options, { differences, file: options.list }, report(differences, options.list) + verdict)
}

/**
 * Compares the models of the project's list, and the given ones, with `file`. Takes all models of `file` if the project
 * has no list and none is given.
 */
function compare(file: string, models: readonly string[], { list: to }: Options) {
  const source = open(file)
  const known: Prices = existsSync(to) ? open(to).prices : new Map()
  for (const model of models) {
    const reason = source.unusable.get(model)
    if (reason !== undefined) throw new UsageError(`The model "${model}" in ${file} ${reason}.`)
  }
  const asked = pick(source.prices, models, file)
  const isAll = known.size === 0 && models.length === 0
  const merged = new Map(known)
  for (const [model, price] of source.prices) {
    if (isAll || known.has(model) || asked.has(model)) merged.set(model, price)
  }
  return { differences: differencesOf(known, merged), merged }
}

function open(file: string) {
  try {
    return openPriceList(file)
  } catch (error) {
    throw error instanceof PriceListError ? new UsageError(`${error.message}.`) : error
  }
}

function pick(prices: Prices, models: readonly string[], file: string): Prices {
  return new Map(
    models.map((model) => {
      const price = prices.get(model)
      if (!price) throw new UsageError(`${file} has no price for exactly "${model}".`)
      return [model, price]
    }),
  )
}

function report(differences: readonly Difference[], to: string): string {
  if (differences.length === 0) return `${to} has these prices already.`
  return differences
    .map(({ from, model, name, to: next }) => `${model}  ${name}  ${from ?? 'none'} -> ${next ?? 'none'}`)
    .join('\n')
}

function describe({ longContext, ...rates }: ListedPrice): string {
  const long = longContext === undefined ? '' : `, above ${longContext.aboveTokens} tokens ${ratesText(longContext)}`
  return ratesText(rates) + long
}

function ratesText(rates: object): string {
  return Object.entries(rates)
    .filter(([name]) => name !== 'aboveTokens')
    .map(([name, rate]) => `${name} ${rate}`)
    .join(', ')
}
