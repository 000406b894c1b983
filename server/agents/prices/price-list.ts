import { createHash } from 'node:crypto'
import { parsePerMillion, writePerMillion } from '../../billing/written-rates.ts'
import { messageOf } from '../../kernel/thrown.ts'
import type { LongContextPricing, TokenPricing } from '../config/pricing-config.ts'
import { repeatedKey } from './repeated-key.ts'

// Reads price lists in three formats: api.json of models.dev, model_prices_and_context_window.json of LiteLLM, and the
// format that `errand prices import` writes.

export type ListedPrice = TokenPricing & { longContext?: LongContextPricing }
export type PriceList = {
  /** First hex digits of the file's SHA-256 hash. */
  version: string
  prices: ReadonlyMap<string, ListedPrice>
  unusable: ReadonlyMap<string, string>
}

/**
 * Thrown if a price list or one of its entries is invalid. The message completes a sentence that starts with the name of
 * the file or model.
 */
export class PriceListError extends Error {
  override readonly name = 'PriceListError'
}

type Entry = Record<string, unknown>
type Listed = [id: string, read: () => ListedPrice]
const versionChars = 12

export function readPriceList(text: string): PriceList {
  const root = parse(text)
  const prices = new Map<string, ListedPrice>()
  const unusable = new Map<string, string>()
  for (const [id, read] of entriesOf(root)) {
    try {
      prices.set(id, read())
    } catch (error) {
      if (!(error instanceof PriceListError)) throw error
      unusable.set(id, error.message)
    }
  }
  const version = createHash('sha256').update(text).digest('hex').slice(0, versionChars)
  return { version, prices, unusable }
}

export function writePriceList(prices: ReadonlyMap<string, ListedPrice>): string {
  const models = Object.fromEntries([...prices].sort(([one], [other]) => (one < other ? -1 : 1)))
  return `${JSON.stringify({ currency: 'USD', models }, null, 2)}\n`
}

function parse(text: string): Entry {
  let root: unknown
  try {
    root = JSON.parse(text)
  } catch (error) {
    throw new PriceListError(`must be valid JSON: ${messageOf(error)}`)
  }
  if (!isEntry(root)) throw new PriceListError('must be a JSON object')
  const twice = repeatedKey(text)
  if (twice !== undefined)
    throw new PriceListError(`must not have the key ${JSON.stringify(twice)} twice in one object`)
  return root
}

function isEntry(value: unknown): value is Entry {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function entriesOf(root: Entry): Listed[] {
  const { currency = 'USD', models } = root
  if (isEntry(models)) {
    assertUsd(currency)
    return Object.entries(models).map(([id, price]) => [id, () => ownPrice(price)])
  }
  const all = Object.entries(root).filter((pair): pair is [string, Entry] => isEntry(pair[1]))
  const providers = all.filter(([, { models: of }]) => isEntry(of))
  if (providers.length > 0) {
    return providers.flatMap(([provider, { models: of }]) =>
      Object.entries(of as Entry).map(([model, entry]): Listed => [
        `${provider}/${model}`,
        () => modelsDevPrice(entry),
      ]),
    )
  }
  const priced = all.filter(([, entry]) => 'input_cost_per_token' in entry)
  if (priced.length === 0) throw new PriceListError('must have prices in the format of models.dev, LiteLLM or Errand')
  // The first entry of LiteLLM's file only documents the fields.
  return priced.filter(([id]) => id !== 'sample_spec').map(([id, entry]) => [id, () => litellmPrice(entry)])
}

function ownPrice(price: unknown): ListedPrice {
  if (!isEntry(price)) throw new PriceListError('must be an object with rates')
  const { longContext } = price
  const own = (of: Entry, others: readonly string[]): TokenPricing => {
    const unknown = Object.keys(of).find((name) => !(name in ownNames) && !others.includes(name))
    if (unknown !== undefined) throw new PriceListError(`must not have the unknown field ${unknown}`)
    return tokens((name) => text(of[name], name), ownNames)
  }
  if (longContext === undefined) return own(price, [])
  if (!isEntry(longContext)) throw new PriceListError('must have an object in longContext')
  return {
    ...own(price, ['longContext']),
    longContext: { aboveTokens: wholeTokens(longContext['aboveTokens']), ...own(longContext, ['aboveTokens']) },
  }
}

/** Converts a models.dev entry, whose prices are in USD per million tokens. */
function modelsDevPrice(entry: unknown): ListedPrice {
  const cost = isEntry(entry) ? entry['cost'] : undefined
  if (!isEntry(cost)) throw new PriceListError('must have a cost')
  assertUsd(cost['currency'] ?? 'USD')
  const base = providerPrice(tokens((name) => decimal(cost[name], name), modelsDevNames))
  const tiers = Array.isArray(cost['tiers']) ? (cost['tiers'] as unknown[]) : []
  const older = cost['context_over_200k']
  if (tiers.length === 0 && !isEntry(older)) return base
  const [tier = { ...(older as Entry), tier: { type: 'context', size: 200_000 } }, ...others] = tiers
  const { tier: of } = isEntry(tier) ? tier : {}
  if (others.length > 0) throw new PriceListError('must have at most one tier, the one for long prompts')
  if (!isEntry(of) || (of['type'] ?? 'context') !== 'context')
    throw new PriceListError('must not have a tier that does not depend on the prompt length')
  const long = longPrice(base, (name) => decimal((tier as Entry)[name], name), modelsDevNames)
  return { ...base, longContext: { aboveTokens: wholeTokens(of['size']), ...long } }
}

/** Converts a LiteLLM entry, whose prices are in USD per token. */
function litellmPrice(entry: Entry): ListedPrice {
  assertUsd(entry['currency'] ?? 'USD')
  const rate = (name: string) => {
    const value = entry[name]
    return typeof value === 'number' ? decimal(value * 1_000_000, name) : decimal(value, name)
  }
  const base = providerPrice(tokens(rate, litellmNames))
  if ('tiered_pricing' in entry) throw new PriceListError('must have at most one tier, the one for long prompts')
  const found = Object.keys(entry).flatMap((name) => /_cost_per_token_above_(\d+)k_tokens$/.exec(name)?.[1] ?? [])
  const limits = [...new Set(found)]
  if (limits.length === 0) return base
  if (limits.length > 1) throw new PriceListError('must have at most one tier, the one for long prompts')
  const long = longPrice(base, (name) => rate(`${name}_above_${limits[0]}k_tokens`), litellmNames)
  return { ...base, longContext: { aboveTokens: Number(limits[0]) * 1000, ...long } }
}

type Names = Record<keyof TokenPricing, string>

const ownNames: Names = {
  inputPerMillionUsd: 'inputPerMillionUsd',
  outputPerMillionUsd: 'outputPerMillionUsd',
  cacheReadPerMillionUsd: 'cacheReadPerMillionUsd',
  cacheWritePerMillionUsd: 'cacheWritePerMillionUsd',
  cacheWrite1hPerMillionUsd: 'cacheWrite1hPerMillionUsd',
  reasoningPerMillionUsd: 'reasoningPerMillionUsd',
}
const modelsDevNames: Names = {
  inputPerMillionUsd: 'input',
  outputPerMillionUsd: 'output',
  cacheReadPerMillionUsd: 'cache_read',
  cacheWritePerMillionUsd: 'cache_write',
  cacheWrite1hPerMillionUsd: 'cache_write_1h',
  reasoningPerMillionUsd: 'reasoning',
}
const litellmNames: Names = {
  inputPerMillionUsd: 'input_cost_per_token',
  outputPerMillionUsd: 'output_cost_per_token',
  cacheReadPerMillionUsd: 'cache_read_input_token_cost',
  cacheWritePerMillionUsd: 'cache_creation_input_token_cost',
  cacheWrite1hPerMillionUsd: 'cache_creation_input_token_cost_above_1hr',
  reasoningPerMillionUsd: 'output_cost_per_reasoning_token',
}

type RateOf = (name: string) => string | undefined

function tokens(rate: RateOf, names: Names): TokenPricing {
  const rates = Object.entries(names).flatMap(([name, own]) => {
    const value = rate(own)
    return value === undefined ? [] : [[name, value] as const]
  })
  const { inputPerMillionUsd, outputPerMillionUsd, ...others } = Object.fromEntries(rates) as Partial<TokenPricing>
  if (inputPerMillionUsd === undefined) throw new PriceListError('must have a price for input tokens')
  if (outputPerMillionUsd === undefined) throw new PriceListError('must have a price for output tokens')
  return { inputPerMillionUsd, outputPerMillionUsd, ...others }
}

/**
 * Drops cache-write rates below the input rate. Public lists contain such rates, often 0, for providers without a
 * surcharge on cache writes.
 */
function providerPrice({ cacheWrite1hPerMillionUsd, cacheWritePerMillionUsd, ...price }: TokenPricing): TokenPricing {
  const input = Number(price.inputPerMillionUsd)
  if (input === 0 && Number(price.outputPerMillionUsd) === 0) throw new PriceListError('must not be listed as free')
  const isSurcharge = (rate: string | undefined) => rate !== undefined && Number(rate) >= input
  return {
    ...price,
    ...(isSurcharge(cacheWritePerMillionUsd) && { cacheWritePerMillionUsd }),
    ...(isSurcharge(cacheWrite1hPerMillionUsd) && { cacheWrite1hPerMillionUsd }),
  }
}

/**
 * Returns the rates for long prompts. If the list lacks one, scales the base rate by the same factor as the input rate
 * (for reasoning, as the output rate).
 */
function longPrice(base: TokenPricing, rate: RateOf, names: Names): TokenPricing {
  const long = providerPrice(tokens(rate, names))
  const grown = Object.entries(base).flatMap(([name, value]) => {
    if (name in long) return []
    const of = name === 'reasoningPerMillionUsd' ? 'outputPerMillionUsd' : 'inputPerMillionUsd'
    return [[name, grownBy(value, base[of], long[of])] as const]
  })
  return { ...long, ...Object.fromEntries(grown) }
}

function grownBy(rate: string, from: string, to: string): string {
  const [value, before, after] = [rate, from, to].map((text) => BigInt(parsePerMillion(text)!))
  return before === 0n ? rate : writePerMillion(Number((value! * after! + before! - 1n) / before!))
}

/** Relative tolerance for rounding errors, which occur when a per-token price is multiplied by a million. */
const tolerance = 1e-9

function decimal(value: unknown, name: string): string | undefined {
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 0 || value >= 10_000_000)
    throw new PriceListError(
      `has the price ${JSON.stringify(value)} (${name}), which must be a number from 0 to 9999999.999999`,
    )
  const rate = Math.round(value * 1_000_000)
  if (Math.abs(rate / 1_000_000 - value) > value * tolerance)
    throw new PriceListError(`has the price ${value} (${name}), which must have at most 6 decimals per million tokens`)
  return writePerMillion(rate)
}

function text(value: unknown, name: string): string | undefined {
  if (value === undefined || (typeof value === 'string' && parsePerMillion(value) !== undefined)) return value
  throw new PriceListError(
    `has the price ${JSON.stringify(value)} (${name}), which must be a string with a USD amount of at most six decimals`,
  )
}

function wholeTokens(value: unknown): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value > 0) return value
  throw new PriceListError(
    `has the long-prompt threshold ${JSON.stringify(value)}, which must be a whole number above 0`,
  )
}

function assertUsd(currency: unknown): void {
  if (currency !== 'USD') throw new PriceListError(`must have prices in USD instead of ${JSON.stringify(currency)}`)
}
