import { z } from 'zod'
import type {
  EarlierRates,
  StoredModelRates,
  StoredRates,
  StoredTokenRates,
  StoredTokens,
} from '../store/sessions/stored-rates.ts'
import { ratesByModel, type ChatRates, type ChatUsed, type TokenCounts, type TokenRates } from './chat-price.ts'

// Converts rates to and from USD per million tokens, the format of configurations, receipts and API responses. Older
// clients use USD per 1,000 tokens, which remains supported.

const millionDecimal = /^(\d{1,7})(?:\.(\d{1,6}))?$/
const thousandDecimal = /^(\d{1,4})(?:\.(\d{1,6}))?$/

/**
 * Converts USD per million tokens, with at most six decimals, to trillionths of a USD per token. Returns undefined if
 * the rate is invalid.
 */
export function parsePerMillion(text: string): number | undefined {
  return parseMillionths(text, millionDecimal)
}

/** Converts USD per 1,000 tokens, with at most six decimals, to trillionths of a USD per token. */
export function parsePer1k(text: string): number | undefined {
  const billionths = parseMillionths(text, thousandDecimal)
  return billionths === undefined ? undefined : billionths * 1000
}

/** Converts USD per tool call, with at most six decimals, to millionths of a USD. */
export function parseCallPrice(text: string): number | undefined {
  return parseMillionths(text, thousandDecimal)
}

function parseMillionths(text: string, decimal: RegExp): number | undefined {
  const match = decimal.exec(text)
  return match ? Number(match[1]) * 1_000_000 + Number((match[2] ?? '').padEnd(6, '0')) : undefined
}

function written(amount: number, decimals: number): string {
  const digits = String(amount).padStart(decimals + 1, '0')
  return `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`.replace(/\.?0+$/, '')
}

export function writePerMillion(rate: number): string {
  return written(rate, 6)
}

const rate = z.string()

const tokenRates = {
  inputPerMillionUsd: rate,
  cacheReadPerMillionUsd: rate,
  cacheWritePerMillionUsd: rate,
  cacheWrite1hPerMillionUsd: rate,
  outputPerMillionUsd: rate,
  reasoningPerMillionUsd: rate,
}

export const WrittenRates = z
  .object({
    ...tokenRates,
    toolCallUsd: z.string(),
    longContext: z
      .object({ aboveTokens: z.number().int(), ...tokenRates })
      .optional()
      .describe('Rates for model calls whose prompt has more than `aboveTokens` tokens'),
    priceListVersion: z.string().optional().describe('Version of the price list with these rates, if any'),
    inputPer1kUsd: rate,
    cachedInputPer1kUsd: rate,
    outputPer1kUsd: rate,
    reasoningPer1kUsd: rate,
  })
  .meta({ id: 'ChatRates', description: 'USD amounts with at most six decimals, or nine for rates per 1,000 tokens' })
export type WrittenRates = z.output<typeof WrittenRates>

export function storedRates(rates: ChatRates): StoredRates {
  const { longContext } = rates
  return {
    ...writtenTokenRates(rates),
    toolCallUsd: written(rates.toolCall, 6),
    ...(longContext && {
      longContext: { aboveTokens: longContext.aboveTokens, ...writtenTokenRates(longContext) },
    }),
    ...(rates.listVersion !== undefined && { priceListVersion: rates.listVersion }),
  }
}

function writtenTokenRates({ cacheRead, cacheWrite, cacheWrite1h, input, output, reasoning }: TokenRates) {
  return {
    inputPerMillionUsd: writePerMillion(input),
    cacheReadPerMillionUsd: writePerMillion(cacheRead),
    cacheWritePerMillionUsd: writePerMillion(cacheWrite),
    cacheWrite1hPerMillionUsd: writePerMillion(cacheWrite1h),
    outputPerMillionUsd: writePerMillion(output),
    reasoningPerMillionUsd: writePerMillion(reasoning),
  }
}

export function storedByModel(rates: ChatRates): StoredModelRates[] {
  return ratesByModel(rates).map((own) => ({
    ...storedRates(own),
    ...(own.model !== undefined && { model: own.model }),
  }))
}

export function chatRatesOf(stored: StoredModelRates): ChatRates {
  const { longContext, model, priceListVersion, toolCallUsd } = stored
  return {
    ...tokenRatesOf(stored),
    toolCall: parseCallPrice(toolCallUsd)!,
    longContext: longContext ? { aboveTokens: longContext.aboveTokens, ...tokenRatesOf(longContext) } : null,
    ...(model !== undefined && { model }),
    ...(priceListVersion !== undefined && { listVersion: priceListVersion }),
  }
}

function tokenRatesOf(stored: StoredTokenRates): TokenRates {
  return {
    input: parsePerMillion(stored.inputPerMillionUsd)!,
    cacheRead: parsePerMillion(stored.cacheReadPerMillionUsd)!,
    cacheWrite: parsePerMillion(stored.cacheWritePerMillionUsd)!,
    cacheWrite1h: parsePerMillion(stored.cacheWrite1hPerMillionUsd)!,
    output: parsePerMillion(stored.outputPerMillionUsd)!,
    reasoning: parsePerMillion(stored.reasoningPerMillionUsd)!,
  }
}

export function writtenRates(rates: ChatRates): WrittenRates {
  return { ...storedRates(rates), ...ratesPer1k(rates) }
}

function ratesPer1k({ cacheRead, input, output, reasoning }: Omit<TokenRates, 'cacheWrite' | 'cacheWrite1h'>) {
  const per1k = (rate: number) => written(rate, 9)
  return {
    inputPer1kUsd: per1k(input),
    cachedInputPer1kUsd: per1k(cacheRead),
    outputPer1kUsd: per1k(output),
    reasoningPer1kUsd: per1k(reasoning),
  }
}

/** Returns a receipt's rates under both their current and their older names. */
export function receiptRates(stored: StoredRates | EarlierRates): WrittenRates {
  if ('inputPerMillionUsd' in stored) {
    return { ...stored, ...ratesPer1k(tokenRatesOf(stored)) }
  }
  const input = parsePer1k(stored.inputPer1kUsd)!
  return writtenRates({
    input,
    cacheRead: parsePer1k(stored.cachedInputPer1kUsd)!,
    cacheWrite: input,
    cacheWrite1h: input,
    output: parsePer1k(stored.outputPer1kUsd)!,
    reasoning: parsePer1k(stored.reasoningPer1kUsd)!,
    toolCall: parseCallPrice(stored.toolCallUsd)!,
    longContext: null,
  })
}

const count = z.number().int()
const tokenCounts = {
  promptTokens: count,
  cachedPromptTokens: count.describe('Part of `promptTokens` that the provider read from its cache'),
  cacheWriteTokens: count
    .optional()
    .describe('Part of `promptTokens` that the provider wrote to its cache; omitted if none'),
  cacheWrite1hTokens: count
    .optional()
    .describe('Part of `cacheWriteTokens` that the provider caches for an hour; omitted if none'),
  completionTokens: count.describe('Includes reasoning tokens'),
  reasoningTokens: count,
}

export const writtenUse = {
  ...tokenCounts,
  toolCalls: count,
  longContext: z
    .object(tokenCounts)
    .optional()
    .describe('Part of the tokens priced at the rates for long prompts; omitted if none'),
}

export function storedUse({ longContext, toolCalls, ...counts }: ChatUsed) {
  return { ...storedCounts(counts), toolCalls, ...(longContext && { longContext: storedCounts(longContext) }) }
}

function storedCounts({ cacheWrite1hTokens, cacheWriteTokens, ...counts }: TokenCounts): StoredTokens {
  return {
    ...counts,
    ...(cacheWriteTokens > 0 && { cacheWriteTokens }),
    ...(cacheWrite1hTokens > 0 && { cacheWrite1hTokens }),
  }
}
