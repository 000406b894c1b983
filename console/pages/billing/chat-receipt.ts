import type { Task, Transaction } from '../../../client/client.ts'
import { usdUnits } from '../../parts/text/usd-units.ts'

// Sums are in trillionths of a dollar. Rates have six decimals per million tokens, so the price of one token has
// twelve.

type Breakdown = NonNullable<Transaction['breakdown']>

export type ReceiptLine = {
  name: string
  quantity: number
  rateUsd: string
  per: 'million tokens' | 'call'
  /** Exact amount with four to twelve decimals. */
  amountUsd: string
}

export type ChatReceipt = {
  lines: ReceiptLine[]
  exactUsd: string
  /** Differences between the exact sum and the cost. */
  adjustments: { name: string; amountUsd: string }[]
  /** The cost, a multiple of 0.0001 USD. */
  costUsd: string
  /** The part of the cost that the balance did not cover. Undefined if the balance covered everything. */
  writtenOffUsd: string | undefined
  chargedUsd: string
  addsUp: boolean
}

const perBillionth = 1000n
const perUnit = 100_000_000n

export function readChatReceipt({ amountUsd, breakdown }: { amountUsd: string; breakdown: Breakdown }): ChatReceipt {
  const parts = componentsOf(breakdown)
  const exact = parts.reduce((sum, { amount }) => sum + amount, 0n)
  const adjustments = adjustmentsOf(breakdown, exact)
  const cost = adjustments.reduce((sum, { amount }) => sum + amount, exact)
  const writtenOff = ofUnits(breakdown.writtenOffUsd ?? '0')
  const charged = -ofUnits(amountUsd)
  return {
    lines: shown(parts),
    exactUsd: written(exact),
    adjustments: adjustments.map(({ amount, name }) => ({ name, amountUsd: written(amount) })),
    costUsd: written(cost),
    writtenOffUsd: breakdown.writtenOffUsd,
    chargedUsd: written(charged),
    addsUp:
      cost - writtenOff === charged &&
      (breakdown.exactUsd === undefined || ofBillionths(breakdown.exactUsd) === exact - (exact % perBillionth)),
  }
}

/**
 * Splits the cost of a token-priced task into its parts. Returns undefined for other tasks, and until the task
 * completes.
 */
export function readTokenReceipt({ costUsd, rates, tokens }: Task): ChatReceipt | undefined {
  if (!rates || !tokens) return undefined
  const parts = componentsOf({ ...tokens, rates })
  const exact = parts.reduce((sum, { amount }) => sum + amount, 0n)
  const difference = ofUnits(costUsd) - exact
  const name = difference < 0n ? 'Above the maximum, not charged' : 'Rounded up to $0.0001'
  return {
    lines: shown(parts),
    exactUsd: written(exact),
    adjustments: difference === 0n ? [] : [{ name, amountUsd: written(difference) }],
    costUsd: written(ofUnits(costUsd)),
    writtenOffUsd: undefined,
    chargedUsd: written(ofUnits(costUsd)),
    addsUp: ofBillionths(tokens.exactUsd) === exact - (exact % perBillionth),
  }
}

/** Omits unused components, except input and output, which every model call has. */
function shown(parts: ReturnType<typeof componentsOf>): ReceiptLine[] {
  const used = parts.filter(({ line: { name, quantity } }) => quantity > 0 || name === inputName || name === outputName)
  return used.map(({ line }) => line)
}

/** If the breakdown contains no carried amounts, the charge itself was rounded half up. */
function adjustmentsOf({ carriedAfterUsd, carriedBeforeUsd }: Breakdown, exact: bigint) {
  if (carriedBeforeUsd === undefined || carriedAfterUsd === undefined) {
    const rounded = ((exact + perUnit / 2n) / perUnit) * perUnit
    return [{ name: 'Rounded half up to $0.0001', amount: rounded - exact }]
  }
  const rest = exact % perBillionth
  return [
    ...(rest > 0n ? [{ name: 'Rounded down to a billionth of a dollar', amount: -rest }] : []),
    { name: 'Carried over from earlier chats', amount: ofBillionths(carriedBeforeUsd) },
    { name: 'Carried over to the next chat', amount: -ofBillionths(carriedAfterUsd) },
  ]
}

const inputName = 'Input tokens'
const outputName = 'Output tokens'

function componentsOf(used: Breakdown) {
  const { longContext, rates, toolCalls } = used
  const ofLong = longContext && rates.longContext
  return [
    ...tokenLines(ofLong ? without(used, longContext) : used, rates),
    ...(ofLong ? tokenLines(longContext, ofLong, ', long prompts') : []),
    component({ name: 'Tool calls', quantity: toolCalls, rateUsd: rates.toolCallUsd, per: 'call' }),
  ]
}

type Tokens = NonNullable<Breakdown['longContext']>
type TokenRates = Omit<NonNullable<Breakdown['rates']['longContext']>, 'aboveTokens'>

function without(all: Tokens, part: Tokens): Required<Tokens> {
  const { cacheWrite1hTokens: hour = 0, cacheWriteTokens: write = 0 } = all
  return {
    promptTokens: all.promptTokens - part.promptTokens,
    cachedPromptTokens: all.cachedPromptTokens - part.cachedPromptTokens,
    cacheWriteTokens: write - (part.cacheWriteTokens ?? 0),
    cacheWrite1hTokens: hour - (part.cacheWrite1hTokens ?? 0),
    completionTokens: all.completionTokens - part.completionTokens,
    reasoningTokens: all.reasoningTokens - part.reasoningTokens,
  }
}

function tokenLines(tokens: Tokens, rates: TokenRates, suffix = '') {
  const { cacheWrite1hTokens = 0, cacheWriteTokens = 0, cachedPromptTokens, completionTokens } = tokens
  const { promptTokens, reasoningTokens } = tokens
  const line = (name: string, quantity: number, rateUsd: string) =>
    component({ name: name + suffix, quantity, rateUsd, per: 'million tokens' })
  return [
    line(inputName, promptTokens - cachedPromptTokens - cacheWriteTokens, rates.inputPerMillionUsd),
    line('Cached input tokens', cachedPromptTokens, rates.cacheReadPerMillionUsd),
    line('Cache writes', cacheWriteTokens - cacheWrite1hTokens, rates.cacheWritePerMillionUsd),
    line('Cache writes (1 hour)', cacheWrite1hTokens, rates.cacheWrite1hPerMillionUsd),
    line(outputName, completionTokens - reasoningTokens, rates.outputPerMillionUsd),
    line('Reasoning tokens', reasoningTokens, rates.reasoningPerMillionUsd),
  ]
}

function component(priced: Omit<ReceiptLine, 'amountUsd'>) {
  const whole = BigInt(priced.quantity) * readRate(priced.rateUsd)
  const amount = priced.per === 'call' ? whole * 1_000_000n : whole
  return { amount, line: { ...priced, amountUsd: written(amount) } satisfies ReceiptLine }
}

function readRate(text: string): bigint {
  const match = /^(\d+)(?:\.(\d{1,6}))?$/.exec(text)
  if (!match) throw new Error(`${text} is not a rate.`)
  return BigInt(match[1]! + (match[2] ?? '').padEnd(6, '0'))
}

function ofBillionths(usd: string): bigint {
  return BigInt(usd.replace('.', '')) * perBillionth
}

function ofUnits(usd: string): bigint {
  return BigInt(usdUnits(usd)) * perUnit
}

function written(amount: bigint): string {
  const digits = String(amount < 0n ? -amount : amount).padStart(13, '0')
  const fraction = digits.slice(-12).replace(/0{1,8}$/, '')
  return `${amount < 0n ? '-' : ''}${digits.slice(0, -12)}.${fraction}`
}
