import type { ChatRates, TokenRates } from '../../billing/chat-price.ts'
import { parseMarkup, readRates, tierFault, type ParsedPricing } from '../config/rates-schema.ts'
import { PriceError, type PriceLists } from './price-lists.ts'

/** The prices of a chat. Users pay `rates`, and the model provider charges the operator `cost`. */
export type ChatPrices = {
  rates: ChatRates
  /** Null if the configuration has no cost. If `cost` has `longContext`, `rates` has the same `aboveTokens`. */
  cost: ChatRates | null
}

type Declared = {
  pricing: ParsedPricing
  cost?: ParsedPricing | undefined
  /** Whether prompts are marked as cacheable. If so, `pricing` must have a rate for cache writes. */
  caching: boolean | '1h'
  /** Whether the provider charges for writing marked prompts to its cache. If so, `cost` must have a rate for it. */
  paysCacheWrites?: boolean
}

/**
 * Reads the prices from an agent's configuration. Throws a PriceError if they are invalid. In agent threads, `lists` is
 * null and listed prices are 0, because these threads receive the rates with each chat.
 */
export function readPrices(declared: Declared, lists: PriceLists | null): ChatPrices {
  const { caching, cost, pricing } = declared
  if (caching !== false && lists) assertCacheWrites(pricing.costPlus ? cost : pricing, { caching, lists })
  const costs = readCost(declared, lists)
  if (!pricing.costPlus) return { rates: withTierOf(costs, ratesOf(pricing, lists)), cost: costs }
  if (!costs) throw new PriceError('costPlus requires cost. Set cost to the rates of the model provider')
  const markup = parseMarkup(pricing.costPlus.markup)!
  const toolCall = pricing.toolCallUsd === undefined ? times(costs.toolCall, markup) : readRates(pricing).toolCall
  return { rates: { ...markedUp(costs, markup), toolCall }, cost: costs }
}

export function readCost(
  { caching, cost, paysCacheWrites = false }: Omit<Declared, 'pricing'>,
  lists: PriceLists | null,
): ChatRates | null {
  if (cost === undefined) return null
  if (caching !== false && paysCacheWrites && lists) assertCacheWrites(cost, { caching, lists, where: ' in cost' })
  return ratesOf(cost, lists)
}

function ratesOf(declared: ParsedPricing, lists: PriceLists | null): ChatRates {
  const { priceList, toolCallUsd } = declared
  if (!priceList || !lists) return readRates(declared)
  const { price, version } = lists.priceOf(priceList)
  const rates = readRates({ ...price, toolCallUsd })
  const fault = tierFault(rates)
  if (fault)
    throw new PriceError(
      `The rates of "${priceList.model}" for long prompts are lower than its other rates. Omit priceList and set the rates`,
    )
  return { ...rates, listVersion: version }
}

/** Copies the cost's long-prompt threshold to rates without one, so that usage above it is recorded separately. */
function withTierOf(costs: ChatRates | null, rates: ChatRates): ChatRates {
  const { longContext } = costs ?? {}
  if (!longContext || rates.longContext?.aboveTokens === longContext.aboveTokens) return rates
  if (rates.longContext) throw new PriceError('longContext.aboveTokens must be the same in pricing and cost')
  const { longContext: _, toolCall: __, listVersion: ___, ...short } = rates
  return { ...rates, longContext: { aboveTokens: longContext.aboveTokens, ...short } }
}

type CachingOf = { caching: true | '1h'; lists: PriceLists; where?: string }

function assertCacheWrites(declared: ParsedPricing | undefined, { caching, lists, where = '' }: CachingOf): void {
  const rates = declared?.priceList ? lists.priceOf(declared.priceList).price : declared
  const name = caching === '1h' ? 'cacheWrite1hPerMillionUsd' : 'cacheWritePerMillionUsd'
  const needed = [rates, ...(rates?.longContext ? [rates.longContext] : [])]
  if (needed.some((one) => one?.[name] === undefined))
    throw new PriceError(`caching requires ${name}${where}. Set that rate`)
}

const markupUnits = 10_000n
/** Maximum rate that the price format can express. */
const rateMax = 9_999_999_999_999

function markedUp(rates: ChatRates, markup: number): ChatRates {
  const { longContext } = rates
  const up = (of: TokenRates): TokenRates => ({
    input: times(of.input, markup),
    cacheRead: times(of.cacheRead, markup),
    cacheWrite: times(of.cacheWrite, markup),
    cacheWrite1h: times(of.cacheWrite1h, markup),
    output: times(of.output, markup),
    reasoning: times(of.reasoning, markup),
  })
  return { ...rates, ...up(rates), longContext: longContext && { ...longContext, ...up(longContext) } }
}

function times(rate: number, markup: number): number {
  const product = Number((BigInt(rate) * BigInt(markup) + markupUnits - 1n) / markupUnits)
  if (product > rateMax)
    throw new PriceError('The markup raises a rate above 9999999.999999 USD. Lower costPlus.markup')
  return product
}

/** Returns the kinds of usage whose price is below cost, each with its margin as a percentage of the price. */
export function lossesOf({ cost, rates }: ChatPrices): { what: string; marginPercent: number }[] {
  if (!cost) return []
  const loss = (what: string, price: number, own: number) =>
    price >= own ? [] : [{ what, marginPercent: price === 0 ? -100 : Math.round(((price - own) / price) * 100) }]
  const compared = (prices: TokenRates, costs: TokenRates, suffix: string) =>
    Object.entries(classNames).flatMap(([name, what]) =>
      loss(what + suffix, prices[name as keyof TokenRates], costs[name as keyof TokenRates]),
    )
  const { longContext } = rates
  return [
    ...compared(rates, cost, ''),
    ...(longContext ? compared(longContext, cost.longContext ?? cost, ' of long prompts') : []),
    ...loss('tool calls', rates.toolCall, cost.toolCall),
  ]
}

const classNames: Record<keyof TokenRates, string> = {
  input: 'input tokens',
  cacheRead: 'cached input tokens',
  cacheWrite: 'cache writes',
  cacheWrite1h: 'cache writes for an hour',
  output: 'output tokens',
  reasoning: 'reasoning tokens',
}
