import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  chatCost,
  chatHold,
  chatUse,
  parseRate,
  writtenRates,
  type ChatRates,
  type ChatUsed,
} from '../../../server/billing/chat-price.ts'
import { withCarried } from '../../../server/store/sessions/carried-cost.ts'

/** An independent fraction without floating point. */
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

const perThousand = ({ over, under }: Fraction): Fraction => ({ over, under: under * 1000n })

/** The exact cost in units of 0.0001 USD. */
function exactUnits(used: Used, rates: Written): Fraction {
  const sum = [
    times(perThousand(decimal(rates.input)), used.promptTokens - used.cachedPromptTokens),
    times(perThousand(decimal(rates.cachedInput)), used.cachedPromptTokens),
    times(perThousand(decimal(rates.output)), used.completionTokens - used.reasoningTokens),
    times(perThousand(decimal(rates.reasoning)), used.reasoningTokens),
    times(decimal(rates.toolCall), used.toolCalls),
  ].reduce(add)
  return { over: sum.over * 10_000n, under: sum.under }
}

const exactly = ({ over, under }: Fraction) => Number(over / under)
/** In billionths of a USD. */
const below = ({ over, under }: Fraction) => Number(((over % under) * 100_000n) / under)
const roundUp = ({ over, under }: Fraction) => Number((over + under - 1n) / under)

type Used = ChatUsed
type Written = { input: string; cachedInput: string; output: string; reasoning: string; toolCall: string }

const rate = fc
  .tuple(fc.nat(50), fc.integer({ min: 0, max: 6 }), fc.nat(999_999))
  .map(([whole, digits, fraction]) =>
    digits === 0 ? String(whole) : `${whole}.${String(fraction).padStart(6, '0').slice(0, digits)}`,
  )
const rates: fc.Arbitrary<Written> = fc.record({
  input: rate,
  cachedInput: rate,
  output: rate,
  reasoning: rate,
  toolCall: rate,
})
const used: fc.Arbitrary<Used> = fc
  .record({
    promptTokens: fc.nat(2_000_000),
    completionTokens: fc.nat(2_000_000),
    cachedShare: fc.double({ min: 0, max: 1, noNaN: true }),
    reasoningShare: fc.double({ min: 0, max: 1, noNaN: true }),
    toolCalls: fc.nat(1000),
  })
  .map(({ cachedShare, reasoningShare, ...rest }) => ({
    ...rest,
    cachedPromptTokens: Math.floor(rest.promptTokens * cachedShare),
    reasoningTokens: Math.floor(rest.completionTokens * reasoningShare),
  }))

function parsed({ cachedInput, input, output, reasoning, toolCall }: Written): ChatRates {
  return {
    input: parseRate(input)!,
    cachedInput: parseRate(cachedInput)!,
    output: parseRate(output)!,
    reasoning: parseRate(reasoning)!,
    toolCall: parseRate(toolCall)!,
  }
}

test('a cost is the exact sum of its components in rational numbers, to the billionth', () => {
  fc.assert(
    fc.property(used, rates, (usage, written) => {
      const exact = exactUnits(usage, written)
      expect(chatCost(usage, parsed(written))).toEqual({ cost: exactly(exact), remainder: below(exact) })
    }),
    { numRuns: 3000 },
  )
})

test('a hold is the cost rounded up, and also covers any fraction carried over from earlier chats', () => {
  fc.assert(
    fc.property(used, rates, fc.integer({ min: 0, max: 99_999 }), (usage, written, carried) => {
      const hold = chatHold(usage, parsed(written))
      expect(hold).toBe(roundUp(exactUnits(usage, written)))
      const { carriedOn, due } = withCarried(chatCost(usage, parsed(written)), carried)
      expect(due).toBeLessThanOrEqual(hold)
      expect(carriedOn).toBeLessThan(100_000)
    }),
    { numRuns: 1000 },
  )
})

const only = (written: Partial<Written>) =>
  parsed({ input: '0', cachedInput: '0', output: '0', reasoning: '0', toolCall: '0', ...written })

test.for([
  ['0.00005', 0, 50_000],
  ['0.000049', 0, 49_000],
  ['0.0001', 1, 0],
  ['0.000149', 1, 49_000],
])('a cost of %s USD is exactly %i units and %i billionths, without rounding', ([toolCall, cost, remainder]) => {
  expect(chatCost(chatUse({ toolCalls: 1 }), only({ toolCall: toolCall as string }))).toEqual({ cost, remainder })
})

test('components are not rounded individually: five components of less than a unit add up to two units', () => {
  const usage = chatUse({
    promptTokens: 2,
    cachedPromptTokens: 1,
    completionTokens: 2,
    reasoningTokens: 1,
    toolCalls: 1,
  })
  const each = { input: '0.049', cachedInput: '0.049', output: '0.049', reasoning: '0.049', toolCall: '0.000049' }
  expect(chatCost(usage, parsed(each))).toEqual({ cost: 2, remainder: 45_000 })
})

test('reasoning tokens count as completion tokens but are charged only at their own rate', () => {
  const usage = chatUse({ completionTokens: 1000, reasoningTokens: 400 })
  expect(chatCost(usage, only({ output: '1', reasoning: '10' }))).toEqual({ cost: 6000 + 40_000, remainder: 0 })
})

test('cached prompt tokens count as prompt tokens but are charged only at their own rate', () => {
  const usage = chatUse({ promptTokens: 1000, cachedPromptTokens: 400 })
  expect(chatCost(usage, only({ input: '10', cachedInput: '1' }))).toEqual({ cost: 60_000 + 4000, remainder: 0 })
})

test('a billion tokens at the highest rate still fit into a safe integer of units', () => {
  const usage = chatUse({ promptTokens: 1_000_000_000, completionTokens: 1_000_000_000 })
  const { cost: units } = chatCost(usage, only({ input: '9999.999999', output: '9999.999999' }))
  expect(units).toBe(199_999_999_980_000)
  expect(Number.isSafeInteger(units)).toBe(true)
})

test('a rate stays the same when formatted and parsed again', () => {
  fc.assert(
    fc.property(rate, (text) => {
      const millionths = parseRate(text)!
      expect(exactly({ over: decimal(text).over * 1_000_000n, under: decimal(text).under })).toBe(millionths)
      const { inputPer1kUsd } = writtenRates(only({ input: text }))
      expect(parseRate(inputPer1kUsd)).toBe(millionths)
      expect(inputPer1kUsd).toMatch(/^(?:0|[1-9]\d*)(?:\.\d*[1-9])?$/)
    }),
  )
})

test.for(['', '.5', '1.', '-1', '+1', '1e3', '1.0000001', '10000', ' 1', '1 ', '1,5', '0x1', 'NaN', '1.2.3'])(
  '%j is not a rate',
  (text) => {
    expect(parseRate(text)).toBeUndefined()
  },
)
