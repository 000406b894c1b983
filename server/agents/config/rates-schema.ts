import { z } from 'zod'
import type { ChatRates, TokenRates } from '../../billing/chat-price.ts'
import { parseCallPrice, parsePer1k, parsePerMillion } from '../../billing/written-rates.ts'

/**
 * Creates a string schema with a custom check. `what` appears in the error message and as the description in the
 * reference.
 */
export function textThat(holds: (text: string) => boolean, what: string) {
  return z.string().refine(holds, `must be ${what}`).describe(what)
}

const rateOf = (parse: (text: string) => number | undefined, example: string) =>
  textThat((text) => parse(text) !== undefined, `a USD amount with at most six decimals, such as "${example}"`)
const perMillion = rateOf(parsePerMillion, '2.50')
const per1k = rateOf(parsePer1k, '0.0025')

const millionRates = {
  inputPerMillionUsd: perMillion,
  outputPerMillionUsd: perMillion,
  cacheReadPerMillionUsd: perMillion.optional(),
  cacheWritePerMillionUsd: perMillion.optional(),
  cacheWrite1hPerMillionUsd: perMillion.optional(),
  reasoningPerMillionUsd: perMillion.optional(),
}
type MillionRates = { [Name in keyof typeof millionRates]?: string | undefined }

const fields = {
  ...millionRates,
  inputPerMillionUsd: perMillion.optional(),
  outputPerMillionUsd: perMillion.optional(),
  longContext: z.strictObject({ aboveTokens: z.number().int().min(1).max(10_000_000), ...millionRates }).optional(),
  inputPer1kUsd: per1k.optional(),
  outputPer1kUsd: per1k.optional(),
  cachedInputPer1kUsd: per1k.optional(),
  reasoningPer1kUsd: per1k.optional(),
  toolCallUsd: rateOf(parseCallPrice, '0.0025').optional(),
  priceList: z.strictObject({ model: z.string().min(1), file: z.string().min(1) }).optional(),
  costPlus: z
    .strictObject({ markup: textThat((text) => parseMarkup(text) !== undefined, 'a factor such as "1.30"') })
    .optional(),
}

const namesPerMillion = {
  inputPer1kUsd: 'inputPerMillionUsd',
  outputPer1kUsd: 'outputPerMillionUsd',
  cachedInputPer1kUsd: 'cacheReadPerMillionUsd',
  reasoningPer1kUsd: 'reasoningPerMillionUsd',
} as const

export const pricing = z.strictObject(fields).superRefine((rates, context) => {
  const fail = (path: string[], message: string) => context.addIssue({ code: 'custom', path, message })
  if (rates.priceList ?? rates.costPlus) {
    const own = setFields(rates).find((name) => !['toolCallUsd', 'priceList', 'costPlus'].includes(name))
    if (own !== undefined) fail([own], 'must be omitted if priceList or costPlus is set')
    else if (rates.priceList && rates.costPlus) fail(['costPlus'], 'must be omitted if priceList is set')
    return
  }
  for (const [old, name] of Object.entries(namesPerMillion) as [keyof typeof namesPerMillion, string][]) {
    if (rates[old] !== undefined && isPerMillion(rates))
      fail([old], `must be replaced by ${name}, because the other rates are per million tokens`)
  }
  for (const name of ['input', 'output'] as const) {
    if (rates[`${name}PerMillionUsd`] === undefined && rates[`${name}Per1kUsd`] === undefined)
      fail([`${name}PerMillionUsd`], 'must be set')
  }
  const fault = tierFault(readRates(rates))
  if (fault) fail(['longContext', fault], 'must be at least the highest rate for shorter prompts')
})
export type ParsedPricing = z.output<typeof pricing>

export const cost = pricing.refine(
  ({ costPlus }) => costPlus === undefined,
  'must have rates or priceList instead of costPlus',
)

const markupPattern = /^(\d{1,3})(?:\.(\d{1,4}))?$/

/** Parses a markup factor into ten-thousandths. Returns undefined if it is invalid or zero. */
export function parseMarkup(text: string): number | undefined {
  const match = markupPattern.exec(text)
  return match ? Number(match[1]) * 10_000 + Number((match[2] ?? '').padEnd(4, '0')) || undefined : undefined
}

/**
 * Returns the name of the `longContext` rate that is too low, if any. An amount reserved at the long-context rates must
 * also cover a shorter prompt and its output.
 */
export function tierFault({
  longContext,
  ...short
}: ChatRates): 'inputPerMillionUsd' | 'outputPerMillionUsd' | undefined {
  if (!longContext) return undefined
  const prompt = ({ cacheRead, cacheWrite, cacheWrite1h, input }: TokenRates) =>
    Math.max(input, cacheRead, cacheWrite, cacheWrite1h)
  const output = (rates: TokenRates) => Math.max(rates.output, rates.reasoning)
  if (prompt(longContext) < prompt(short)) return 'inputPerMillionUsd'
  return output(longContext) < output(short) ? 'outputPerMillionUsd' : undefined
}

function isPerMillion(rates: object): boolean {
  return setFields(rates).some((name) => name === 'longContext' || name in millionRates)
}

function setFields(rates: object): string[] {
  return Object.entries(rates).flatMap(([name, value]) => (value === undefined ? [] : [name]))
}

export function readRates(rates: ParsedPricing): ChatRates {
  const { longContext } = rates
  return {
    ...tokenRates(rates),
    toolCall: parseCallPrice(rates.toolCallUsd ?? '0')!,
    longContext: longContext ? { aboveTokens: longContext.aboveTokens, ...tokenRates(longContext) } : null,
  }
}

/** Parses the rates. An unset rate falls back to a more general one, for example `cacheRead` to `input`. */
function tokenRates(rates: MillionRates & Omit<Partial<ParsedPricing>, keyof MillionRates>): TokenRates {
  const rate = (million: string | undefined, thousand?: string) => {
    if (million !== undefined) return parsePerMillion(million)
    return thousand === undefined ? undefined : parsePer1k(thousand)
  }
  const input = rate(rates.inputPerMillionUsd, rates.inputPer1kUsd) ?? 0
  const output = rate(rates.outputPerMillionUsd, rates.outputPer1kUsd) ?? 0
  const cacheWrite = rate(rates.cacheWritePerMillionUsd) ?? input
  return {
    input,
    cacheRead: rate(rates.cacheReadPerMillionUsd, rates.cachedInputPer1kUsd) ?? input,
    cacheWrite,
    cacheWrite1h: rate(rates.cacheWrite1hPerMillionUsd) ?? cacheWrite,
    output,
    reasoning: rate(rates.reasoningPerMillionUsd, rates.reasoningPer1kUsd) ?? output,
  }
}
