import type { ChatRates, TokenRates } from '../../billing/chat-price.ts'
import type { ParsedPricing } from '../config/rates-schema.ts'
import { parseMarkup, readRates } from '../config/rates-schema.ts'
import { PriceListError } from './price-list.ts'
import type { PriceLists } from './price-lists.ts'

/** Prices of a chat: those that users pay, and those that the provider charges the operator. */
export type ChatPrices = {
  rates: ChatRates
  /** Null if the configuration does not say. */
  cost: ChatRates | null
}

type Declared = {
  pricing: ParsedPricing
  cost?: ParsedPricing | undefined
  /** Whether prompts are marked as cacheable, so that the provider charges for cache writes. */
  isCaching: boolean
}

/**
 * Reads the prices that an agent declares. Throws a PriceListError. `lists` is null in agent threads, which receive
 * rates with each chat: prices from lists are then zero.
 */
export function readPrices({ cost, isCaching, pricing }: Declared, lists: PriceLists | null): ChatPrices {
  if (isCaching && lists && !hasCacheWrites(pricing.costPlus ? cost : pricing, lists))
    throw new PriceListError('caching needs cacheWritePerMillionUsd')
  const costs = cost === undefined ? null : ratesOf(cost, lists)
  if (!pricing.costPlus) return { rates: ratesOf(pricing, lists), cost: costs }
  if (!costs) throw new PriceListError('costPlus needs the cost of the agent')
  const rates = markedUp(costs, parseMarkup(pricing.costPlus.markup)!)
  return { rates: { ...rates, toolCall: readRates(pricing).toolCall }, cost: costs }
}

function ratesOf(declared: ParsedPricing, lists: PriceLists | null): ChatRates {
  if (!declared.priceList || !lists) return readRates(declared)
  const { price, version } = lists.priceOf(declared.priceList)
  return { ...readRates({ ...price, toolCallUsd: declared.toolCallUsd }), listVersion: version }
}

function hasCacheWrites(declared: ParsedPricing | undefined, lists: PriceLists): boolean {
  const rates = declared?.priceList ? lists.priceOf(declared.priceList).price : declared
  return rates?.cacheWritePerMillionUsd !== undefined
}

const markupUnits = 10_000n

/** Multiplies rates by a markup in ten-thousandths, rounded up. */
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
  return Number((BigInt(rate) * BigInt(markup) + markupUnits - 1n) / markupUnits)
}

/** Classes of tokens whose price is below their cost, with the margin in percent of the price. */
export function lossesOf({ cost, rates }: ChatPrices): { tokens: string; marginPercent: number }[] {
  if (!cost) return []
  const compared = (prices: TokenRates, costs: TokenRates, suffix: string) =>
    Object.entries(classNames).flatMap(([name, tokens]) => {
      const [price, own] = [prices[name as keyof TokenRates], costs[name as keyof TokenRates]]
      if (price >= own) return []
      return [
        { tokens: tokens + suffix, marginPercent: price === 0 ? -100 : Math.round(((price - own) / price) * 100) },
      ]
    })
  const long = cost.longContext ? compared(rates.longContext ?? rates, cost.longContext, ' of long prompts') : []
  return [...compared(rates, cost, ''), ...long]
}

const classNames: Record<keyof TokenRates, string> = {
  input: 'input tokens',
  cacheRead: 'cached input tokens',
  cacheWrite: 'cache writes',
  cacheWrite1h: 'cache writes for an hour',
  output: 'output tokens',
  reasoning: 'reasoning tokens',
}
