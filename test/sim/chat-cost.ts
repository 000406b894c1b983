// Chat prices computed from a receipt alone, independently of the service's code.

type Tokens = {
  promptTokens: number
  cachedPromptTokens: number
  cacheWriteTokens?: number
  cacheWrite1hTokens?: number
  completionTokens: number
  reasoningTokens: number
}
type TokenRates = Record<
  | 'inputPerMillionUsd'
  | 'cacheReadPerMillionUsd'
  | 'cacheWritePerMillionUsd'
  | 'cacheWrite1hPerMillionUsd'
  | 'outputPerMillionUsd'
  | 'reasoningPerMillionUsd',
  string
>

export type ChatReceipt = Tokens & {
  toolCalls: number
  longContext?: Tokens
  rates: TokenRates & { toolCallUsd: string; longContext?: TokenRates }
  exactUsd?: string
  carriedBeforeUsd?: string
  carriedAfterUsd?: string
  writtenOffUsd?: string
}

const billionthsPerUnit = 100_000n

/**
 * Returns the cost in units of 0.0001 USD: the exact sum of the components and the carried remainder, rounded down
 * once.
 */
export function receiptCost(receipt: ChatReceipt): number {
  return Number((exactCost(receipt) + billionthsOf(receipt.carriedBeforeUsd)) / billionthsPerUnit)
}

/** Returns the remainder that the account carries over, in billionths of a USD. */
export function carriedOn(receipt: ChatReceipt): bigint {
  return (exactCost(receipt) + billionthsOf(receipt.carriedBeforeUsd)) % billionthsPerUnit
}

export function billionthsOf(usd = '0'): bigint {
  return BigInt(usd.replace('.', ''))
}

/** Returns the sum of the components, rounded down to a billionth of a USD. */
export function exactCost(receipt: ChatReceipt): bigint {
  const { longContext: long, rates, toolCalls } = receipt
  let trillionths = costOf(receipt, rates) + BigInt(toolCalls) * millionths(rates.toolCallUsd) * 1_000_000n
  if (long) trillionths += costOf(long, rates.longContext!) - costOf(long, rates)
  return trillionths / 1000n
}

function costOf(tokens: Tokens, rates: TokenRates): bigint {
  const { cacheWrite1hTokens = 0, cacheWriteTokens = 0, cachedPromptTokens, completionTokens } = tokens
  const { promptTokens, reasoningTokens } = tokens
  const components: [number, keyof TokenRates][] = [
    [promptTokens - cachedPromptTokens - cacheWriteTokens, 'inputPerMillionUsd'],
    [cachedPromptTokens, 'cacheReadPerMillionUsd'],
    [cacheWriteTokens - cacheWrite1hTokens, 'cacheWritePerMillionUsd'],
    [cacheWrite1hTokens, 'cacheWrite1hPerMillionUsd'],
    [completionTokens - reasoningTokens, 'outputPerMillionUsd'],
    [reasoningTokens, 'reasoningPerMillionUsd'],
  ]
  return components.reduce((sum, [count, name]) => sum + BigInt(count) * millionths(rates[name]), 0n)
}

function millionths(text: string): bigint {
  return BigInt(Math.round(Number(text) * 1_000_000))
}

/** Returns the counts of a receipt, with zeros for those that it omits. */
export function countsIn(receipt: Partial<ChatReceipt> = {}) {
  const tokensIn = (of: Partial<ChatReceipt>) => countNames.map((name) => of[name] ?? 0)
  return [...tokensIn(receipt), ...tokensIn(receipt.longContext ?? {}), receipt.toolCalls]
}
const countNames = [
  'promptTokens',
  'cachedPromptTokens',
  'cacheWriteTokens',
  'cacheWrite1hTokens',
  'completionTokens',
  'reasoningTokens',
] as const

export function unitsOfUsd(usd: string): number {
  return Math.round(Number(usd) * 10_000)
}

export function usdOfUnits(units: number): string {
  return (units / 10_000).toFixed(4)
}
