import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readRates } from '../../../../server/agents/config/rates-schema.ts'
import {
  addUse,
  callUse,
  chatCost,
  chatHold,
  chatUse,
  mostExpensiveUse,
} from '../../../../server/billing/chat-price.ts'
import { withCarried } from '../../../../server/store/sessions/carried-cost.ts'
import { counts, exactUnits, wholeAndRest, written } from '../../price-cases.ts'

const runs = 1000
const chatsPerRun = 1000
const billionthsPerUnit = 100_000n

test('over a million chats, charges and the carried remainder are the exact sum, and each hold covers its charge', () => {
  const chats = fc.array(fc.array(counts, { minLength: 1, maxLength: 2 }), { minLength: 20, maxLength: 20 })
  let total = 0
  fc.assert(
    fc.property(chats, written, (some, prices) => {
      const rates = readRates(prices)
      let [carried, charged, exact] = [0, 0n, 0n]
      for (let n = 0; n < chatsPerRun; n++) {
        const calls = some[n % some.length]!
        const used = calls.map((call) => callUse(call, rates)).reduce(addUse, chatUse({ toolCalls: n % 3 }))
        const cost = chatCost(used, rates)
        if (n < some.length) {
          expect([cost.cost, cost.remainder]).toEqual(wholeAndRest(exactUnits(calls, n % 3, prices)))
          const held = calls
            .map((call) => ({ ...call, promptTokens: call.promptTokens + n * 50_000 }))
            .map((call) => mostExpensiveUse(call, rates))
            .reduce(addUse, chatUse({ toolCalls: n % 3 }))
          expect(chatHold(held, rates)).toBeGreaterThanOrEqual(chatHold(used, rates))
        }
        const { carriedOn, due } = withCarried(cost, carried)
        if (due < 0 || due > chatHold(used, rates)) throw new Error(`charge ${due} of ${JSON.stringify(used)}`)
        carried = carriedOn
        charged += BigInt(due)
        exact += BigInt(cost.cost) * billionthsPerUnit + BigInt(cost.remainder)
        total++
      }
      expect(charged * billionthsPerUnit + BigInt(carried)).toBe(exact)
    }),
    { numRuns: runs },
  )
  expect(total).toBe(runs * chatsPerRun)
}, 300_000)
