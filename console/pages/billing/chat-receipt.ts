import type { Transaction } from '../../../client/client.ts'
import { usdUnits } from '../../parts/text/usd-units.ts'

// Sums are in billionths of a USD: rates have six decimals per 1,000 tokens, so a price per token has nine.

type Breakdown = NonNullable<Transaction['breakdown']>

export type ReceiptLine = {
  name: string
  quantity: number
  rateUsd: string
  per: '1,000 tokens' | 'call'
  /** Exact amount, with four to nine decimals. */
  amountUsd: string
}

export type ChatReceipt = {
  lines: ReceiptLine[]
  /** Exact sum of the lines. */
  exactUsd: string
  /** Amounts to add to the exact sum to get the cost. */
  adjustments: { name: string; amountUsd: string }[]
  /** The cost, a multiple of 0.0001 USD. */
  costUsd: string
  /** The part of the cost that the balance did not cover. Undefined if the balance covered everything. */
  writtenOffUsd: string | undefined
  chargedUsd: string
  /** Whether the lines and adjustments add up to the charged amount. */
  addsUp: boolean
}

const billionthsPerUnit = 100_000n

/** Splits a chat charge into its parts. */
export function readChatReceipt({ amountUsd, breakdown }: { amountUsd: string; breakdown: Breakdown }): ChatReceipt {
  const parts = componentsOf(breakdown)
  const exact = parts.reduce((sum, { amount }) => sum + amount, 0n)
  const adjustments = adjustmentsOf(breakdown, exact)
  const cost = adjustments.reduce((sum, { amount }) => sum + amount, exact)
  const writtenOff = toBillionths(breakdown.writtenOffUsd ?? '0')
  const charged = -toBillionths(amountUsd)
  return {
    // Omits unused components, except input and output, which every chat has.
    lines: parts
      .filter(({ line }, index) => line.quantity > 0 || index === 0 || line.name === outputName)
      .map(({ line }) => line),
    exactUsd: writeBillionths(exact),
    adjustments: adjustments.map(({ amount, name }) => ({ name, amountUsd: writeBillionths(amount) })),
    costUsd: writeBillionths(cost),
    writtenOffUsd: breakdown.writtenOffUsd,
    chargedUsd: writeBillionths(charged),
    addsUp:
      cost - writtenOff === charged &&
      (breakdown.exactUsd === undefined || readBillionths(breakdown.exactUsd) === exact),
  }
}

/** Charges without carried amounts were each rounded half up. */
function adjustmentsOf({ carriedAfterUsd, carriedBeforeUsd }: Breakdown, exact: bigint) {
  if (carriedBeforeUsd === undefined || carriedAfterUsd === undefined) {
    const rounded = ((exact + billionthsPerUnit / 2n) / billionthsPerUnit) * billionthsPerUnit
    return [{ name: 'Rounded half up to $0.0001', amount: rounded - exact }]
  }
  return [
    { name: 'Carried from earlier chats', amount: readBillionths(carriedBeforeUsd) },
    { name: 'Carried to the next chat', amount: -readBillionths(carriedAfterUsd) },
  ]
}

const outputName = 'Output tokens'

function componentsOf(used: Breakdown) {
  const { cachedPromptTokens, completionTokens, promptTokens, rates, reasoningTokens, toolCalls } = used
  return [
    tokens('Input tokens', promptTokens - cachedPromptTokens, rates.inputPer1kUsd),
    tokens('Cached input tokens', cachedPromptTokens, rates.cachedInputPer1kUsd),
    tokens(outputName, completionTokens - reasoningTokens, rates.outputPer1kUsd),
    tokens('Reasoning tokens', reasoningTokens, rates.reasoningPer1kUsd),
    component({ name: 'Tool calls', quantity: toolCalls, rateUsd: rates.toolCallUsd, per: 'call' }),
  ]
}

function tokens(name: string, quantity: number, rateUsd: string) {
  return component({ name, quantity, rateUsd, per: '1,000 tokens' })
}

function component(priced: Omit<ReceiptLine, 'amountUsd'>) {
  const whole = BigInt(priced.quantity) * readRate(priced.rateUsd)
  const amount = priced.per === 'call' ? whole * 1000n : whole
  return { amount, line: { ...priced, amountUsd: writeBillionths(amount) } satisfies ReceiptLine }
}

/** Parses a rate to millionths. */
function readRate(text: string): bigint {
  const match = /^(\d+)(?:\.(\d{1,6}))?$/.exec(text)
  if (!match) throw new Error(`${text} is not a rate.`)
  return BigInt(match[1]! + (match[2] ?? '').padEnd(6, '0'))
}

/** Parses an amount with nine decimals. */
function readBillionths(usd: string): bigint {
  return BigInt(usd.replace('.', ''))
}

function toBillionths(usd: string): bigint {
  return BigInt(usdUnits(usd)) * billionthsPerUnit
}

/** Formats an amount with four decimals, or more if needed. */
function writeBillionths(amount: bigint): string {
  const digits = String(amount < 0n ? -amount : amount).padStart(10, '0')
  const fraction = digits.slice(-9).replace(/0{1,5}$/, '')
  return `${amount < 0n ? '-' : ''}${digits.slice(0, -9)}.${fraction}`
}
