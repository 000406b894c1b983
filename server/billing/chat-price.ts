import type { Units } from '../kernel/money.ts'
import { billionthsPerUnit, type ExactCost } from '../store/sessions/carried-cost.ts'

/** Prices per token, in trillionths of a USD: the same numbers as millionths of a USD per million tokens. */
export type TokenRates = {
  input: number
  /** Prompt tokens read from the provider's cache. */
  cacheRead: number
  /** Prompt tokens written to the provider's cache, for minutes and for an hour. */
  cacheWrite: number
  cacheWrite1h: number
  output: number
  reasoning: number
}

export type ChatRates = TokenRates & {
  /** Millionths of a USD per tool call. */
  toolCall: number
  /**
   * Rates of a model call whose prompt has more than `aboveTokens` tokens. The highest of them are not below the
   * highest rates for shorter prompts.
   */
  longContext: (TokenRates & { aboveTokens: number }) | null
  /** Id of the model with these rates, for an agent of kind model. */
  model?: string
  /** Version of the price list that the rates come from, if any. */
  listVersion?: string
  /** Rates of the fallback models, in order. */
  fallbacks?: readonly ChatRates[]
}

/**
 * Tokens by class. `promptTokens` includes `cachedPromptTokens` and `cacheWriteTokens`, which includes
 * `cacheWrite1hTokens`. `completionTokens` includes `reasoningTokens`.
 */
export type TokenCounts = {
  promptTokens: number
  cachedPromptTokens: number
  cacheWriteTokens: number
  cacheWrite1hTokens: number
  completionTokens: number
  reasoningTokens: number
}

/** Usage of a chat. `longContext` is the part of the tokens that is priced at the rates for long prompts. */
export type ChatUsed = TokenCounts & { toolCalls: number; longContext: TokenCounts | null }

const noTokens: TokenCounts = {
  promptTokens: 0,
  cachedPromptTokens: 0,
  cacheWriteTokens: 0,
  cacheWrite1hTokens: 0,
  completionTokens: 0,
  reasoningTokens: 0,
}
const trillionthsPerBillionth = 1000n
const trillionthsPerUnit = BigInt(billionthsPerUnit) * trillionthsPerBillionth
const trillionthsPerMillionth = 1_000_000n

function tokenCost(counts: TokenCounts, rates: TokenRates): bigint {
  const { cacheWrite1hTokens, cacheWriteTokens, cachedPromptTokens, completionTokens, promptTokens } = counts
  const { reasoningTokens } = counts
  return (
    times(promptTokens - cachedPromptTokens - cacheWriteTokens, rates.input) +
    times(cachedPromptTokens, rates.cacheRead) +
    times(cacheWriteTokens - cacheWrite1hTokens, rates.cacheWrite) +
    times(cacheWrite1hTokens, rates.cacheWrite1h) +
    times(completionTokens - reasoningTokens, rates.output) +
    times(reasoningTokens, rates.reasoning)
  )
}

function times(tokens: number, rate: number): bigint {
  return tokens === 0 || rate === 0 ? 0n : BigInt(tokens) * BigInt(rate)
}

function trillionths(used: ChatUsed, rates: ChatRates): bigint {
  const { longContext: long } = used
  const calls = times(used.toolCalls, rates.toolCall) * trillionthsPerMillionth
  if (!long || !rates.longContext) return tokenCost(used, rates) + calls
  return tokenCost(combined(used, long, -1), rates) + tokenCost(long, rates.longContext) + calls
}

/** The exact cost, rounded down to a billionth of a USD. */
export function chatCost(used: ChatUsed, rates: ChatRates): ExactCost {
  const exact = trillionths(used, rates)
  return {
    cost: Number(exact / trillionthsPerUnit),
    remainder: Number((exact % trillionthsPerUnit) / trillionthsPerBillionth),
  }
}

/** Returns the cost in billionths of a USD. Null if the rates are not known. */
export function providerCostOf(used: ChatUsed, rates: ChatRates | null): number | null {
  return rates && Number(trillionths(used, rates) / trillionthsPerBillionth)
}

/**
 * Returns the exact cost, rounded up to whole units. This always covers the charge: the account carries over less than
 * one unit, so the charge in whole units never exceeds this amount.
 */
export function chatHold(used: ChatUsed, rates: ChatRates): Units {
  return Number((trillionths(used, rates) + trillionthsPerUnit - 1n) / trillionthsPerUnit)
}

/** Returns the rates of each model that may answer, starting with the first model. */
export function ratesByModel(rates: ChatRates): readonly ChatRates[] {
  if (!rates.fallbacks) return [rates]
  const { fallbacks, ...first } = rates
  return [first, ...fallbacks]
}

/**
 * Returns rates for these models, in their order. A model without rates, because it was configured later, gets those of
 * the first model.
 */
export function ratesForModels(rates: ChatRates, ids: readonly (string | null)[]): ChatRates {
  const known = ratesByModel(rates)
  const [first = known[0]!, ...others] = ids.map((id) => known.find(({ model }) => model === id) ?? known[0]!)
  return joinRates([first, ...others])
}

/** Joins the rates of several models; the inverse of `ratesByModel`. */
export function joinRates([first, ...fallbacks]: readonly [ChatRates, ...ChatRates[]]): ChatRates {
  return fallbacks.length === 0 ? first : { ...first, fallbacks }
}

/** Returns rates that no model exceeds, so that a hold covers whichever model answers. */
export function highestRates(rates: ChatRates): ChatRates {
  const models = ratesByModel(rates)
  if (models.length === 1) return rates
  const tiers = models.flatMap(({ longContext }) => longContext ?? [])
  const aboveTokens = Math.min(...tiers.map((tier) => tier.aboveTokens))
  return {
    ...highest(models),
    toolCall: Math.max(...models.map(({ toolCall }) => toolCall)),
    longContext: tiers.length === 0 ? null : { aboveTokens, ...highest([...models, ...tiers]) },
  }
}

function highest(rates: readonly TokenRates[]): TokenRates {
  const most = (of: (one: TokenRates) => number) => Math.max(...rates.map(of))
  return {
    input: most((one) => one.input),
    cacheRead: most((one) => one.cacheRead),
    cacheWrite: most((one) => one.cacheWrite),
    cacheWrite1h: most((one) => one.cacheWrite1h),
    output: most((one) => one.output),
    reasoning: most((one) => one.reasoning),
  }
}

/** Returns usage with zeros for omitted fields. */
export function chatUse(used: Partial<ChatUsed>): ChatUsed {
  return { ...noTokens, toolCalls: 0, longContext: null, ...used }
}

export function isLongPrompt(promptTokens: number, { longContext }: ChatRates): boolean {
  return longContext !== null && promptTokens > longContext.aboveTokens
}

/** Returns the usage of one model call. The length of its prompt decides which rates apply. */
export function callUse(
  { cacheWrite1hTokens = 0, cacheWriteTokens = 0, ...counts }: Partial<TokenCounts>,
  rates: ChatRates,
): ChatUsed {
  const { cachedPromptTokens = 0, completionTokens = 0, promptTokens = 0, reasoningTokens = 0 } = counts
  const isLong = isLongPrompt(promptTokens, rates)
  const all = {
    promptTokens,
    cachedPromptTokens,
    cacheWriteTokens,
    cacheWrite1hTokens,
    completionTokens,
    reasoningTokens,
    toolCalls: 0,
    longContext: null,
  }
  return isLong ? { ...all, longContext: combined(all, noTokens) } : all
}

/** Returns the most expensive way to charge one model call with this many tokens. */
export function dearestUse(
  { completionTokens, promptTokens }: Pick<TokenCounts, 'promptTokens' | 'completionTokens'>,
  rates: ChatRates,
): ChatUsed {
  const isLong = isLongPrompt(promptTokens, rates)
  const { cacheRead, cacheWrite, cacheWrite1h, input, output, reasoning } = isLong ? rates.longContext! : rates
  const dearest = Math.max(input, cacheRead, cacheWrite, cacheWrite1h)
  const isWritten = dearest > Math.max(input, cacheRead)
  return callUse(
    {
      promptTokens,
      cachedPromptTokens: !isWritten && dearest > input ? promptTokens : 0,
      cacheWriteTokens: isWritten ? promptTokens : 0,
      cacheWrite1hTokens: isWritten && dearest > cacheWrite ? promptTokens : 0,
      completionTokens,
      reasoningTokens: reasoning > output ? completionTokens : 0,
    },
    rates,
  )
}

export function addUse(one: ChatUsed, other: ChatUsed): ChatUsed {
  return {
    promptTokens: one.promptTokens + other.promptTokens,
    cachedPromptTokens: one.cachedPromptTokens + other.cachedPromptTokens,
    cacheWriteTokens: one.cacheWriteTokens + other.cacheWriteTokens,
    cacheWrite1hTokens: one.cacheWrite1hTokens + other.cacheWrite1hTokens,
    completionTokens: one.completionTokens + other.completionTokens,
    reasoningTokens: one.reasoningTokens + other.reasoningTokens,
    toolCalls: one.toolCalls + other.toolCalls,
    longContext:
      one.longContext && other.longContext
        ? combined(one.longContext, other.longContext)
        : (one.longContext ?? other.longContext),
  }
}

function combined(one: TokenCounts, other: TokenCounts, sign: 1 | -1 = 1): TokenCounts {
  return {
    promptTokens: one.promptTokens + sign * other.promptTokens,
    cachedPromptTokens: one.cachedPromptTokens + sign * other.cachedPromptTokens,
    cacheWriteTokens: one.cacheWriteTokens + sign * other.cacheWriteTokens,
    cacheWrite1hTokens: one.cacheWrite1hTokens + sign * other.cacheWrite1hTokens,
    completionTokens: one.completionTokens + sign * other.completionTokens,
    reasoningTokens: one.reasoningTokens + sign * other.reasoningTokens,
  }
}

/** Reduces the output tokens to at most `most`. */
export function withOutput(used: ChatUsed, most: number): ChatUsed {
  const cut = (counts: TokenCounts, to: number): TokenCounts => {
    const completionTokens = Math.min(counts.completionTokens, to)
    return { ...counts, completionTokens, reasoningTokens: Math.min(counts.reasoningTokens, completionTokens) }
  }
  const { longContext } = used
  if (!longContext) return { ...used, ...cut(used, most) }
  const long = cut(longContext, most)
  const rest = cut(combined(used, longContext, -1), most - long.completionTokens)
  return { ...used, ...combined(rest, long), longContext: long }
}

type OutputWithin = {
  used: ChatUsed
  rates: ChatRates
  /** Whether the output belongs to a long prompt; by default, whether `used` includes long prompts. */
  isLong?: boolean
}

/** Returns how many output tokens `held` covers in addition to `used`, at the highest output rate. */
export function outputWithin(held: Units, { rates, used, isLong = used.longContext !== null }: OutputWithin): number {
  const { output, reasoning } = (isLong && rates.longContext) || rates
  const dearest = BigInt(Math.max(output, reasoning))
  const left = BigInt(held) * trillionthsPerUnit - trillionths(used, rates)
  if (left < 0n) return 0
  return dearest === 0n ? Number.MAX_SAFE_INTEGER : Number(left / dearest)
}
