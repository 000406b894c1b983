import type { Units } from '../kernel/money.ts'
import { billionthsPerUnit as unit, type ExactCost } from '../store/sessions/carried-cost.ts'

/** Prices of a chat in millionths of a USD: per 1,000 tokens, and per tool call. */
export type ChatRates = { input: number; cachedInput: number; output: number; reasoning: number; toolCall: number }

/** Usage of a chat. `completionTokens` includes `reasoningTokens`, `promptTokens` includes `cachedPromptTokens`. */
export type ChatUsed = {
  promptTokens: number
  cachedPromptTokens: number
  completionTokens: number
  reasoningTokens: number
  toolCalls: number
}

const rateDecimal = /^(\d{1,4})(?:\.(\d{1,6}))?$/
const billionthsPerUnit = BigInt(unit)

/** Parses a rate such as `0.0025` (at most six digits after the point) into millionths. Undefined if invalid. */
export function parseRate(text: string): number | undefined {
  const match = rateDecimal.exec(text)
  return match ? Number(match[1]) * 1_000_000 + Number((match[2] ?? '').padEnd(6, '0')) : undefined
}

function formatRate(millionths: number): string {
  const digits = String(millionths).padStart(7, '0')
  return `${digits.slice(0, -6)}.${digits.slice(-6)}`.replace(/\.?0+$/, '')
}

/** Returns rates under the names used in the configuration and in receipts. */
export function writtenRates({ cachedInput, input, output, reasoning, toolCall }: ChatRates) {
  return {
    inputPer1kUsd: formatRate(input),
    cachedInputPer1kUsd: formatRate(cachedInput),
    outputPer1kUsd: formatRate(output),
    reasoningPer1kUsd: formatRate(reasoning),
    toolCallUsd: formatRate(toolCall),
  }
}

/**
 * Returns the exact cost in billionths of a USD. A price in millionths per 1,000 tokens is the same number as the price
 * in billionths per token.
 */
function billionths(used: ChatUsed, rates: ChatRates): bigint {
  const { cachedPromptTokens, completionTokens, promptTokens, reasoningTokens, toolCalls } = used
  return (
    BigInt(promptTokens - cachedPromptTokens) * BigInt(rates.input) +
    BigInt(cachedPromptTokens) * BigInt(rates.cachedInput) +
    BigInt(completionTokens - reasoningTokens) * BigInt(rates.output) +
    BigInt(reasoningTokens) * BigInt(rates.reasoning) +
    BigInt(toolCalls) * BigInt(rates.toolCall) * 1000n
  )
}

export function chatCost(used: ChatUsed, rates: ChatRates): ExactCost {
  const exact = billionths(used, rates)
  return { cost: Number(exact / billionthsPerUnit), remainder: Number(exact % billionthsPerUnit) }
}

/**
 * Returns the exact cost, rounded up to whole units. This always covers the charge: the account carries over less than
 * one unit, so the charge in whole units never exceeds this amount.
 */
export function chatHold(used: ChatUsed, rates: ChatRates): Units {
  return Number((billionths(used, rates) + billionthsPerUnit - 1n) / billionthsPerUnit)
}

/** Returns the most expensive way to charge this many tokens: as reasoning or as cached tokens, if that costs more. */
export function dearestUse(
  { completionTokens, promptTokens }: Pick<ChatUsed, 'promptTokens' | 'completionTokens'>,
  { cachedInput, input, output, reasoning }: ChatRates,
): ChatUsed {
  return chatUse({
    promptTokens,
    cachedPromptTokens: cachedInput > input ? promptTokens : 0,
    completionTokens,
    reasoningTokens: reasoning > output ? completionTokens : 0,
  })
}

export function addUse(one: ChatUsed, other: ChatUsed): ChatUsed {
  return {
    promptTokens: one.promptTokens + other.promptTokens,
    cachedPromptTokens: one.cachedPromptTokens + other.cachedPromptTokens,
    completionTokens: one.completionTokens + other.completionTokens,
    reasoningTokens: one.reasoningTokens + other.reasoningTokens,
    toolCalls: one.toolCalls + other.toolCalls,
  }
}

/** Returns how many output tokens `held` pays for in addition to `used`, at the highest price of output tokens. */
export function outputWithin(held: Units, { rates, used }: { used: ChatUsed; rates: ChatRates }): number {
  const dearest = BigInt(Math.max(rates.output, rates.reasoning))
  const left = BigInt(held) * billionthsPerUnit - billionths(used, rates)
  if (left < 0n) return 0
  return dearest === 0n ? Number.MAX_SAFE_INTEGER : Number(left / dearest)
}

/** Returns usage with zeros for omitted fields. */
export function chatUse(used: Partial<ChatUsed>): ChatUsed {
  return { promptTokens: 0, cachedPromptTokens: 0, completionTokens: 0, reasoningTokens: 0, toolCalls: 0, ...used }
}
