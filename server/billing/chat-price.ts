import type { Units } from '../kernel/money.ts'
import { billionthsPerUnit, type ExactCost } from '../store/sessions/carried-cost.ts'

/** Prices per token in trillionths of a USD. Numerically equal to millionths of a USD per million tokens. */
export type TokenRates = {
  input: number
  cacheRead: number
  /**
   * Prices of prompt tokens written to the provider's cache for a few minutes (`cacheWrite`) or for an hour
   * (`cacheWrite1h`).
   */
  cacheWrite: number
  cacheWrite1h: number
  output: number
  reasoning: number
}

export type ChatRates = TokenRates & {
  /** Price per tool call in millionths of a USD. */
  toolCall: number
  /**
   * Rates for model calls with more than `aboveTokens` prompt tokens. The highest of these rates is at least the
   * highest rate for shorter prompts.
   */
  longContext: (TokenRates & { aboveTokens: number }) | null
  /** Id of the model with these rates. Set only for `model` agents. */
  model?: string
  /** Version of the price list, if the rates come from one. */
  listVersion?: string
  fallbacks?: readonly ChatRates[]
}

/**
 * `promptTokens` includes `cachedPromptTokens` and `cacheWriteTokens`. `cacheWriteTokens` includes
 * `cacheWrite1hTokens`, and `completionTokens` includes `reasoningTokens`.
 */
export type TokenCounts = {
  promptTokens: number
  cachedPromptTokens: number
  cacheWriteTokens: number
  cacheWrite1hTokens: number
  completionTokens: number
  reasoningTokens: number
}

/**
 * Billable usage of a chat. `longContext` contains the tokens charged at the rates for long prompts. The other counts
 * include them.
 */
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

/** Returns the exact cost as whole units plus a remainder in billionths of a USD, rounded down. */
export function chatCost(used: ChatUsed, rates: ChatRates): ExactCost {
  const exact = trillionths(used, rates)
  return {
    cost: Number(exact / trillionthsPerUnit),
    remainder: Number((exact % trillionthsPerUnit) / trillionthsPerBillionth),
  }
}

export function providerCostOf(used: ChatUsed, rates: ChatRates | null): number | null {
  return rates && Number(trillionths(used, rates) / trillionthsPerBillionth)
}

/**
 * Returns the exact cost rounded up to whole units. It always covers the charge, because an account carries over less
 * than one unit from earlier charges.
 */
export function chatHold(used: ChatUsed, rates: ChatRates): Units {
  return Number((trillionths(used, rates) + trillionthsPerUnit - 1n) / trillionthsPerUnit)
}

export function ratesByModel(rates: ChatRates): readonly ChatRates[] {
  if (!rates.fallbacks) return [rates]
  const { fallbacks, ...first } = rates
  return [first, ...fallbacks]
}

/**
 * Returns the rates of these models, in the same order. A model without stored rates was configured later and uses the
 * first model's rates.
 */
export function ratesForModels(rates: ChatRates, ids: readonly (string | null)[]): ChatRates {
  const known = ratesByModel(rates)
  const [first = known[0]!, ...others] = ids.map((id) => known.find(({ model }) => model === id) ?? known[0]!)
  return joinRates([first, ...others])
}

export function joinRates([first, ...fallbacks]: readonly [ChatRates, ...ChatRates[]]): ChatRates {
  return fallbacks.length === 0 ? first : { ...first, fallbacks }
}

/** Takes each rate from the model where it is highest, so that a hold is sufficient for any of the models. */
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

export function chatUse(used: Partial<ChatUsed>): ChatUsed {
  return { ...noTokens, toolCalls: 0, longContext: null, ...used }
}

export function isLongPrompt(promptTokens: number, { longContext }: ChatRates): boolean {
  return longContext !== null && promptTokens > longContext.aboveTokens
}

/** Converts the token counts of one model call to usage. The length of the prompt decides which rates apply. */
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

/**
 * Returns the most expensive usage with these numbers of prompt and completion tokens. Cache reads and writes may cost
 * more than ordinary input.
 */
export function mostExpensiveUse(
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
  /** Whether the output is charged at the rates for long prompts. Defaults to whether `used` contains such tokens. */
  isLong?: boolean
}

/** Returns how many more output tokens the hold covers after `used`, at the highest output rate. */
export function outputWithin(held: Units, { rates, used, isLong = used.longContext !== null }: OutputWithin): number {
  const { output, reasoning } = (isLong && rates.longContext) || rates
  const dearest = BigInt(Math.max(output, reasoning))
  const left = BigInt(held) * trillionthsPerUnit - trillionths(used, rates)
  if (left < 0n) return 0
  return dearest === 0n ? Number.MAX_SAFE_INTEGER : Number(left / dearest)
}

/**
 * Like `outputWithin`, but leaves room for one tool call that the output may request. Ignores the tool call if its
 * price would take more than half of the tokens.
 */
export function outputBesideTool(held: Units, of: OutputWithin): number {
  const output = outputWithin(held, of)
  const used = { ...of.used, toolCalls: of.used.toolCalls + 1 }
  const besideTool = outputWithin(held, { ...of, used })
  return besideTool * 2 >= output ? besideTool : output
}
