import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readRates } from '../../../server/agents/config/rates-schema.ts'
import {
  addUse,
  callUse,
  chatCost,
  chatHold,
  chatUse,
  mostExpensiveUse,
  outputWithin,
  withOutput,
  type ChatRates,
} from '../../../server/billing/chat-price.ts'
import { parsePer1k, parsePerMillion, receiptRates, storedRates } from '../../../server/billing/written-rates.ts'
import { withCarried } from '../../../server/store/sessions/carried-cost.ts'
import { ratesAt } from '../../support/rates.ts'
import { counts, exactUnits, roundUp, wholeAndRest, written, type Call } from '../price-cases.ts'

test('a cost is the exact sum of its components in rational numbers, rounded down to a billionth', () => {
  fc.assert(
    fc.property(fc.array(counts, { minLength: 1, maxLength: 3 }), fc.nat(50), written, (calls, toolCalls, prices) => {
      const { cost, remainder } = chatCost(useOf(calls, toolCalls, readRates(prices)), readRates(prices))
      expect([cost, remainder]).toEqual(wholeAndRest(exactUnits(calls, toolCalls, prices)))
    }),
    { numRuns: 3000 },
  )
})

test('a hold is the cost rounded up, and also covers any fraction carried over from earlier chats', () => {
  fc.assert(
    fc.property(counts, written, fc.integer({ min: 0, max: 99_999 }), (call, prices, carried) => {
      const rates = readRates(prices)
      const hold = chatHold(callUse(call, rates), rates)
      expect(hold).toBe(roundUp(exactUnits([call], 0, prices)))
      const { carriedOn, due } = withCarried(chatCost(callUse(call, rates), rates), carried)
      expect(due).toBeLessThanOrEqual(hold)
      expect(carriedOn).toBeLessThan(100_000)
    }),
    { numRuns: 1000 },
  )
})

test('the hold of a call covers every usage that a provider may report within its bounds', () => {
  fc.assert(
    fc.property(counts, fc.nat(50_000), fc.nat(50_000), written, (call, morePrompt, moreOutput, prices) => {
      const rates = readRates(prices)
      const most = {
        promptTokens: call.promptTokens + morePrompt,
        completionTokens: call.completionTokens + moreOutput,
      }
      const held = chatHold(mostExpensiveUse(most, rates), rates)
      expect(held).toBeGreaterThanOrEqual(chatHold(callUse(call, rates), rates))
    }),
    { numRuns: 3000 },
  )
})

test('output that is cut to a hold costs at most the hold', () => {
  fc.assert(
    fc.property(fc.array(counts, { minLength: 1, maxLength: 3 }), written, fc.nat(200), (calls, prices, percent) => {
      const rates = readRates(prices)
      const used = useOf(calls, 0, rates)
      const silent = withOutput(used, 0)
      const held = Math.floor((chatHold(used, rates) * percent) / 100)
      fc.pre(chatHold(silent, rates) <= held)
      const cut = withOutput(used, outputWithin(held, { used: silent, rates }))
      expect(chatHold(cut, rates)).toBeLessThanOrEqual(held)
      expect(cut.completionTokens).toBeLessThanOrEqual(used.completionTokens)
    }),
    { numRuns: 1000 },
  )
})

test('a call is priced for long prompts only above the limit, and with all its tokens', () => {
  const rates = readRates({
    inputPerMillionUsd: '1',
    outputPerMillionUsd: '10',
    toolCallUsd: '0',
    longContext: { aboveTokens: 200_000, inputPerMillionUsd: '2', outputPerMillionUsd: '15' },
  })
  const costOf = (promptTokens: number) => chatCost(callUse({ promptTokens, completionTokens: 1000 }, rates), rates)
  expect(costOf(200_000)).toEqual({ cost: 2100, remainder: 0 })
  expect(costOf(200_001)).toEqual({ cost: 4150, remainder: 2000 })
})

test('cache writes are charged by lifetime and are not charged as input', () => {
  const rates = readRates({
    inputPerMillionUsd: '3',
    outputPerMillionUsd: '0',
    cacheReadPerMillionUsd: '0.30',
    cacheWritePerMillionUsd: '3.75',
    cacheWrite1hPerMillionUsd: '6',
    toolCallUsd: '0',
  })
  const used = { promptTokens: 1_000_000, cachedPromptTokens: 400_000, cacheWriteTokens: 300_000 }
  expect(chatCost(callUse({ ...used, cacheWrite1hTokens: 100_000 }, rates), rates)).toEqual({
    cost: 9000 + 1200 + 7500 + 6000,
    remainder: 0,
  })
})

test.for([
  [50, 0, 50_000],
  [49, 0, 49_000],
  [100, 1, 0],
  [149, 1, 49_000],
] as const)('%i millionths of a USD are exactly %i units and %i billionths', ([toolCall, cost, remainder]) => {
  expect(chatCost(chatUse({ toolCalls: 1 }), ratesAt({ toolCall }))).toEqual({ cost, remainder })
})

test('components are not rounded individually: three rates below a billionth per token add up to two billionths', () => {
  const each = { inputPerMillionUsd: '0.0007', cacheReadPerMillionUsd: '0.0007', outputPerMillionUsd: '0.0007' }
  const rates = readRates({ ...each, toolCallUsd: '0' })
  const used = chatUse({ promptTokens: 2, cachedPromptTokens: 1, completionTokens: 1 })
  expect(chatCost(used, rates)).toEqual({ cost: 0, remainder: 2 })
})

test('a billion tokens at the highest rate still fit into a safe integer of units', () => {
  const most = { inputPerMillionUsd: '9999999.999999', outputPerMillionUsd: '9999999.999999', toolCallUsd: '0' }
  const usage = chatUse({ promptTokens: 1_000_000_000, completionTokens: 1_000_000_000 })
  const { cost: units } = chatCost(usage, readRates(most))
  expect(units).toBe(199_999_999_999_980)
  expect(Number.isSafeInteger(units)).toBe(true)
})

test('rates stay the same when written to a receipt and read again, under their old names too', () => {
  fc.assert(
    fc.property(written, (prices) => {
      const rates = readRates(prices)
      const stored = storedRates(rates)
      expect(readRates(stored)).toEqual(rates)
      const { cachedInputPer1kUsd, inputPer1kUsd, outputPer1kUsd, reasoningPer1kUsd } = receiptRates(stored)
      for (const [per1k, rate] of [
        [inputPer1kUsd, rates.input],
        [cachedInputPer1kUsd, rates.cacheRead],
        [outputPer1kUsd, rates.output],
        [reasoningPer1kUsd, rates.reasoning],
      ] as const) {
        expect(Math.round(Number(per1k) * 1e9)).toBe(rate)
        expect(per1k).toMatch(/^(?:0|[1-9]\d*)(?:\.\d*[1-9])?$/)
      }
    }),
  )
})

test('a receipt from before rates per million tokens is read under the new names', () => {
  const earlier = {
    inputPer1kUsd: '0.0025',
    cachedInputPer1kUsd: '0.00025',
    outputPer1kUsd: '0.01',
    reasoningPer1kUsd: '0.02',
    toolCallUsd: '0.001',
  }
  expect(receiptRates(earlier)).toEqual({
    ...earlier,
    inputPerMillionUsd: '2.5',
    cacheReadPerMillionUsd: '0.25',
    cacheWritePerMillionUsd: '2.5',
    cacheWrite1hPerMillionUsd: '2.5',
    outputPerMillionUsd: '10',
    reasoningPerMillionUsd: '20',
  })
})

test.for(['', '.5', '1.', '-1', '+1', '1e3', '1.0000001', '10000000', ' 1', '1 ', '1,5', '0x1', 'NaN', '1.2.3'])(
  '%j is not a rate',
  (text) => {
    expect([parsePerMillion(text), parsePer1k(text)]).toEqual([undefined, undefined])
  },
)

function useOf(calls: readonly Call[], toolCalls: number, rates: ChatRates) {
  return calls.map((call) => callUse(call, rates)).reduce(addUse, chatUse({ toolCalls }))
}
