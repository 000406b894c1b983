import { existsSync, writeFileSync } from 'node:fs'
import { UsageError } from '../kernel/usage-error.ts'
import { writePriceList, type ListedPrice } from '../agents/prices/price-list.ts'
import { openPriceList, PriceError } from '../agents/prices/price-lists.ts'
import { differencesOf, type Difference } from '../agents/prices/price-differences.ts'
import { print } from './open-store.ts'

type Options = { list: string; json?: boolean }
type Prices = ReadonlyMap<string, ListedPrice>

export async function showPrices(models: readonly string[], options: Options): Promise<void> {
  const { prices, version } = open(options.list)
  const chosen = models.length === 0 ? prices : pick(prices, models, options.list)
  const lines = [...chosen].map(([model, price]) => `${model}  ${describe(price)}`)
  print(options, { version, models: Object.fromEntries(chosen) }, lines.join('\n'))
}

export async function diffPrices(file: string, models: readonly string[], options: Options): Promise<void> {
  const { differences, missing, skipped } = compare(file, models, options)
  print(options, { differences, missing }, report({ differences, missing, skipped }, { file, list: options.list }))
}

export async function importPrices(file: string, models: readonly string[], options: Options): Promise<void> {
  const { differences, merged, missing, skipped } = compare(file, models, options)
  print(
    options,
    { differences, missing, file: options.list },
    report({ differences, missing, skipped }, { file, list: options.list }),
  )
  if (differences.length === 0) return
  writeFileSync(options.list, writePriceList(merged))
  if (!options.json)
    print(options, {}, `Wrote ${options.list}. Run \`errand reload\` to apply it to a running service.`)
}

/**
 * Compares the prices in `file` with the project's list, for the models in that list and the given models. If there are
 * no such models, compares all models in `file`.
 */
function compare(file: string, models: readonly string[], { list: to }: Options) {
  const source = open(file)
  const known = existsSync(to) ? openOwn(to) : new Map<string, ListedPrice>()
  for (const model of models) {
    const reason = source.unusable.get(model)
    if (reason !== undefined) throw new UsageError(`The model "${model}" in ${file} ${reason}.`)
  }
  const asked = pick(source.prices, models, file)
  const isAll = known.size === 0 && models.length === 0
  if (isAll && source.prices.size === 0)
    throw new UsageError(`${file} contains no usable prices. To see why, name one of its models.`)
  const merged = new Map(known)
  for (const [model, price] of source.prices) {
    if (isAll || known.has(model) || asked.has(model)) merged.set(model, price)
  }
  const missing = [...known.keys()].filter((model) => !source.prices.has(model))
  const reasonOf = (model: string) => source.unusable.get(model) ?? 'does not have an entry'
  return {
    differences: differencesOf(known, merged),
    merged,
    missing: missing.map((model) => ({ model, reason: reasonOf(model) })),
    skipped: isAll ? source.unusable.size : 0,
  }
}

/** Throws if the project's list has unreadable entries, because an import would delete them. */
function openOwn(file: string): Prices {
  const { prices, unusable } = open(file)
  for (const [model, reason] of unusable) throw new UsageError(`The model "${model}" in ${file} ${reason}.`)
  return prices
}

function open(file: string) {
  try {
    return openPriceList(file)
  } catch (error) {
    throw error instanceof PriceError ? new UsageError(`${error.message}.`) : error
  }
}

function pick(prices: Prices, models: readonly string[], file: string): Prices {
  return new Map(
    models.map((model) => {
      const price = prices.get(model)
      if (!price) throw new UsageError(`${file} does not have a price for "${model}". Use the model's exact name.`)
      return [model, price]
    }),
  )
}

type Compared = {
  differences: readonly Difference[]
  missing: readonly { model: string; reason: string }[]
  /** Number of models that an import of all models skips because they have no usable price. */
  skipped: number
}

function report({ differences, missing, skipped }: Compared, { file, list }: { file: string; list: string }): string {
  const lines = differences.map(
    ({ from, model, name, to }) => `${model}  ${name}  ${from ?? 'none'} -> ${to ?? 'none'}`,
  )
  const kept = missing.map(({ model, reason }) => `${model}  unchanged: in ${file}, the model ${reason}`)
  if (lines.length + kept.length === 0) return `${list} already has these prices.`
  const unusable =
    skipped === 0 ? [] : [`Skipped models without a usable price: ${skipped}. To see the reason, name the model.`]
  return [...lines, ...kept, ...unusable].join('\n')
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
