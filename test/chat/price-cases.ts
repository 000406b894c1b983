import fc from 'fast-check'

// Random usage and rates, and their exact cost, computed with rational numbers and independently of the service's code.

export type Call = {
  promptTokens: number
  cachedPromptTokens: number
  cacheWriteTokens: number
  cacheWrite1hTokens: number
  completionTokens: number
  reasoningTokens: number
}
type TokenPrices = {
  inputPerMillionUsd: string
  outputPerMillionUsd: string
  cacheReadPerMillionUsd?: string
  cacheWritePerMillionUsd?: string
  cacheWrite1hPerMillionUsd?: string
  reasoningPerMillionUsd?: string
}
export type Prices = TokenPrices & { toolCallUsd: string; longContext?: TokenPrices & { aboveTokens: number } }

/** A rational number: `over` divided by `under`. */
type Fraction = { over: bigint; under: bigint }

const add = (a: Fraction, b: Fraction): Fraction => ({
  over: a.over * b.under + b.over * a.under,
  under: a.under * b.under,
})
const times = (a: Fraction, n: number): Fraction => ({ over: a.over * BigInt(n), under: a.under })

/** Parses `12.5` as 125/10. */
function decimal(text: string): Fraction {
  const [whole, fraction = ''] = text.split('.')
  return { over: BigInt(whole + fraction), under: 10n ** BigInt(fraction.length) }
}

const perMillion = (text: string): Fraction => {
  const { over, under } = decimal(text)
  return { over, under: under * 1_000_000n }
}

/** Returns the exact cost of model and tool calls in units of 0.0001 USD. */
export function exactUnits(calls: readonly Call[], toolCalls: number, prices: Prices): Fraction {
  const sum = calls
    .flatMap((call) => {
      const { longContext } = prices
      return componentsOf(call, longContext && call.promptTokens > longContext.aboveTokens ? longContext : prices)
    })
    .reduce(add, times(decimal(prices.toolCallUsd), toolCalls))
  return { over: sum.over * 10_000n, under: sum.under }
}

function componentsOf(call: Call, prices: TokenPrices): Fraction[] {
  const { inputPerMillionUsd: input, outputPerMillionUsd: output } = prices
  const { cacheReadPerMillionUsd: read = input, cacheWritePerMillionUsd: write = input } = prices
  const { cacheWrite1hPerMillionUsd: hour = write, reasoningPerMillionUsd: reasoning = output } = prices
  return [
    times(perMillion(input), call.promptTokens - call.cachedPromptTokens - call.cacheWriteTokens),
    times(perMillion(read), call.cachedPromptTokens),
    times(perMillion(write), call.cacheWriteTokens - call.cacheWrite1hTokens),
    times(perMillion(hour), call.cacheWrite1hTokens),
    times(perMillion(output), call.completionTokens - call.reasoningTokens),
    times(perMillion(reasoning), call.reasoningTokens),
  ]
}

/** Returns the whole units, and the remainder in billionths of a USD. */
export function wholeAndRest({ over, under }: Fraction): [number, number] {
  return [Number(over / under), Number(((over % under) * 100_000n) / under)]
}

export function roundUp({ over, under }: Fraction): number {
  return Number((over + under - 1n) / under)
}

const share = fc.double({ min: 0, max: 1, noNaN: true })
export const counts: fc.Arbitrary<Call> = fc
  .record({
    promptTokens: fc.nat(2_000_000),
    completionTokens: fc.nat(2_000_000),
    cached: share,
    written: share,
    forAnHour: share,
    thought: share,
  })
  .map(({ cached, completionTokens, forAnHour, promptTokens, thought, written: writtenShare }) => {
    const cachedPromptTokens = Math.floor(promptTokens * cached)
    const cacheWriteTokens = Math.floor((promptTokens - cachedPromptTokens) * writtenShare)
    return {
      promptTokens,
      cachedPromptTokens,
      cacheWriteTokens,
      cacheWrite1hTokens: Math.floor(cacheWriteTokens * forAnHour),
      completionTokens,
      reasoningTokens: Math.floor(completionTokens * thought),
    }
  })

/** A rate in millionths. */
const rate = fc.oneof(fc.nat(50), fc.nat(99_999_999), fc.constant(0))
const classes = fc.record({ input: rate, read: rate, write: rate, hour: rate, output: rate, thought: rate })
type Classes = typeof classes extends fc.Arbitrary<infer Value> ? Value : never

const writtenRate = (millionths: number) => {
  const digits = String(millionths).padStart(7, '0')
  return `${digits.slice(0, -6)}.${digits.slice(-6)}`.replace(/\.?0+$/, '')
}

function tokenPrices({ hour, input, output, read, thought, write }: Classes, isWhole: boolean): TokenPrices {
  const base = { inputPerMillionUsd: writtenRate(input), outputPerMillionUsd: writtenRate(output) }
  if (!isWhole) return base
  return {
    ...base,
    cacheReadPerMillionUsd: writtenRate(read),
    cacheWritePerMillionUsd: writtenRate(write),
    cacheWrite1hPerMillionUsd: writtenRate(hour),
    reasoningPerMillionUsd: writtenRate(thought),
  }
}

/** Prices of all shapes: with and without the optional rates, and with higher rates for long prompts. */
export const written: fc.Arbitrary<Prices> = fc
  .record({
    short: classes,
    more: classes,
    above: fc.nat(2_000_000),
    isWhole: fc.boolean(),
    isTiered: fc.boolean(),
    toolCall: rate,
  })
  .map(({ above, isTiered, isWhole, more, short, toolCall }) => {
    const long = {
      ...more,
      input: Math.max(short.input, short.read, short.write, short.hour) + more.input,
      output: Math.max(short.output, short.thought) + more.output,
    }
    return {
      ...tokenPrices(short, isWhole),
      toolCallUsd: writtenRate(toolCall),
      ...(isTiered && { longContext: { aboveTokens: above + 1, ...tokenPrices(long, isWhole) } }),
    }
  })
