import { expect, test } from 'vitest'
import { chatUse, ratesByModel, ratesForModels } from '../../server/billing/chat-price.ts'
import { chargeOf, providerCostOfTask, termsOf } from '../../server/billing/task-charges.ts'
import { chatRatesOf } from '../../server/billing/written-rates.ts'
import { rates as written } from '../store/token-drafts.ts'

const cheap = { ...written, model: 'cheap' }
const dear = { ...written, inputPerMillionUsd: '300', model: 'dear' }
const use = (model: number) => ({ used: chatUse({ promptTokens: 1000 }), model, isEstimated: false })

test('a task pays the rates of the model that answered, wherever the configuration has it now', () => {
  const charged = (model: number, models: string[]) =>
    chargeOf(use(model), { rates: [cheap, dear], cap: 10_000, models })
  expect(charged(1, ['cheap', 'dear'])).toMatchObject({ cost: 3000, used: { model: 'dear', modelIndex: 1 } })
  expect(charged(2, ['cheap', 'new', 'dear'])).toMatchObject({ cost: 3000, used: { model: 'dear', modelIndex: 1 } })
  // The user did not agree to the price of a model that was configured later.
  expect(charged(1, ['cheap', 'new', 'dear'])).toMatchObject({ cost: 30, used: { model: 'new', modelIndex: 0 } })
  const alone = chargeOf(use(1), { rates: [cheap], cap: 10_000, models: ['cheap', 'new'] })
  expect(alone).toMatchObject({ cost: 30, used: { modelIndex: 0 } })
})

test('the rates of a run follow the models of the configuration', () => {
  const terms = termsOf({ cost: 500, rates: [cheap, dear] }, { costs: null, modelIds: ['new', 'dear', 'cheap'] })!
  expect(terms.cap).toBe(500)
  expect(ratesByModel(terms.rates).map(({ input }) => input)).toEqual([3e6, 300e6, 3e6])
  const joined = ratesForModels(chatRatesOf(dear), ['dear'])
  expect(joined).toMatchObject({ input: 300e6 })
  expect(joined).not.toHaveProperty('fallbacks')
})

test.each([12.5, -1, Number.NaN, 1e12])('a claim of %s tokens costs nothing and throws nothing', (promptTokens) => {
  const claimed = { ...use(0), used: chatUse({ promptTokens }) }
  const { cost, used } = chargeOf(claimed, { rates: [cheap], cap: 10_000, models: ['cheap'] })
  expect([cost, used.exactUsd]).toEqual([0, '0.000000000'])
  expect(providerCostOfTask(claimed, [chatRatesOf(cheap)])).toBe(0)
})
