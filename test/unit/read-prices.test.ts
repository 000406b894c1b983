import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Catalogue } from '../../server/agents/config/catalogue.ts'
import { costPlus, fromPriceList, type ErrandConfig } from '../../server/agents/config/define-config.ts'
import { PriceLists } from '../../server/agents/prices/price-lists.ts'
import { lossesOf } from '../../server/agents/prices/read-prices.ts'
import { callUse, providerCostOf } from '../../server/billing/chat-price.ts'
import { storedRates } from '../../server/billing/written-rates.ts'
import { temporaryFolder } from '../support/resources.ts'

const cost = { inputPerMillionUsd: '3', outputPerMillionUsd: '15', cacheReadPerMillionUsd: '0.3' }
const list = { currency: 'USD', models: { 'anthropic/claude-haiku-4-5': cost, half: { inputPerMillionUsd: '1' } } }

function chatOf(prices: object, content: string | null = JSON.stringify(list)) {
  const folder = temporaryFolder('prices')
  if (content !== null) writeFileSync(join(folder, 'prices.json'), content)
  const agent = { kind: 'code', id: 'agent', name: 'Agent', chat: { ...prices, async *reply() {} } }
  const config = { agents: [agent] } as unknown as ErrandConfig
  return new Catalogue(config, new PriceLists(folder)).agent('agent')!.chat!.models[0]!
}

const haiku = fromPriceList('anthropic/claude-haiku-4-5')
const unreadable = 'agents: the pricing of "agent" is invalid: '

test('a markup multiplies each rate of the cost, rounded up', () => {
  const longContext = { aboveTokens: 1000, inputPerMillionUsd: '6', outputPerMillionUsd: '20' }
  const own = { ...cost, cacheReadPerMillionUsd: '0.000001', longContext, toolCallUsd: '0.01' }
  const { cost: costs, rates } = chatOf({ cost: own, pricing: costPlus({ markup: '1.30', toolCallUsd: '0.002' }) })
  expect(storedRates(rates)).toMatchObject({
    inputPerMillionUsd: '3.9',
    outputPerMillionUsd: '19.5',
    cacheReadPerMillionUsd: '0.000002',
    toolCallUsd: '0.002',
    longContext: { aboveTokens: 1000, inputPerMillionUsd: '7.8', outputPerMillionUsd: '26' },
  })
  expect(costs).toMatchObject({ input: 3_000_000, toolCall: 10_000 })
})

test('tool calls are marked up too, unless they have a price of their own', () => {
  const own = { ...cost, toolCallUsd: '0.01' }
  expect(chatOf({ cost: own, pricing: costPlus({ markup: '1.30' }) }).rates.toolCall).toBe(13_000)
  expect(lossesOf(chatOf({ cost: own, pricing: cost }))).toEqual([{ what: 'tool calls', marginPercent: -100 }])
})

test('an edited list takes effect at the next start, and agent threads never read it', () => {
  const folder = temporaryFolder('prices')
  const file = join(folder, 'prices.json')
  writeFileSync(file, JSON.stringify(list))
  const agent = { kind: 'code', id: 'agent', name: 'Agent', chat: { pricing: haiku, async *reply() {} } }
  const config = { agents: [agent] } as unknown as ErrandConfig
  const inputRate = (catalogue: Catalogue) => catalogue.agent('agent')!.chat!.models[0]!.rates.input
  const started = new Catalogue(config, new PriceLists(folder))
  writeFileSync(
    file,
    JSON.stringify({ models: { 'anthropic/claude-haiku-4-5': { ...cost, inputPerMillionUsd: '9' } } }),
  )
  expect(inputRate(started)).toBe(3_000_000)
  expect(inputRate(new Catalogue(config, new PriceLists(folder)))).toBe(9_000_000)
  writeFileSync(file, '{')
  expect(inputRate(started)).toBe(3_000_000)
  expect(() => new Catalogue(config, null)).not.toThrow()
  expect(() => new Catalogue(config, new PriceLists(folder))).toThrow(/prices\.json/)
})

const tier = { aboveTokens: 1000, inputPerMillionUsd: '6', outputPerMillionUsd: '20' }

test('usage is split by the length of prompts if only the cost depends on it', () => {
  const { cost: costs, rates } = chatOf({ cost: { ...cost, longContext: tier }, pricing: cost })
  expect(rates.longContext).toEqual({ ...rates, aboveTokens: 1000, toolCall: undefined, longContext: undefined })
  const used = callUse({ promptTokens: 2000, completionTokens: 10 }, rates)
  expect(providerCostOf(used, costs)).toBe(2000 * 6000 + 10 * 20_000)
  expect(() =>
    chatOf({ cost: { ...cost, longContext: tier }, pricing: { ...cost, longContext: { ...tier, aboveTokens: 9 } } }),
  ).toThrow(`${unreadable}longContext.aboveTokens must be the same in pricing and cost`)
})

test('a list whose long prompts cost less than others stops the start', () => {
  const cheaper = { ...cost, longContext: { ...tier, outputPerMillionUsd: '5' } }
  const content = JSON.stringify({ models: { 'anthropic/claude-haiku-4-5': cheaper } })
  expect(() => chatOf({ pricing: haiku }, content)).toThrow(
    'The rates of "anthropic/claude-haiku-4-5" for long prompts are lower',
  )
})

test('prices come from a list, whose version is part of the rates', () => {
  const { cost: costs, rates } = chatOf({ cost: haiku, pricing: costPlus({ markup: '2' }) })
  expect(costs).toMatchObject({ input: 3_000_000, cacheRead: 300_000, listVersion: rates.listVersion })
  expect(storedRates(rates)).toMatchObject({
    inputPerMillionUsd: '6',
    priceListVersion: expect.stringMatching(/^[0-9a-f]{12}$/),
  })
  expect(chatOf({ pricing: haiku }).rates).toMatchObject({ output: 15_000_000 })
})

test.each([
  [
    'an unknown model',
    fromPriceList('anthropic/claude-haiku-4'),
    'does not have a price for "anthropic/claude-haiku-4"',
  ],
  ['an unknown model', fromPriceList('claude-haiku-4-5'), 'Did you mean "anthropic/claude-haiku-4-5"?'],
  ['a missing rate', fromPriceList('half'), 'must have a price for output tokens'],
  ['a missing file', fromPriceList('half', { file: 'none.json' }), 'Could not read the price list (ENOENT: '],
])('%s stops the start', (_, pricing, message) => {
  expect(() => chatOf({ pricing })).toThrow(unreadable)
  expect(() => chatOf({ pricing })).toThrow(message)
})

test('a broken list stops the start', () => {
  expect(() => chatOf({ pricing: haiku }, '{')).toThrow('prices.json must be valid JSON')
  expect(() => chatOf({ pricing: haiku }, null)).toThrow('ENOENT')
})

const at = 'agents[0].chat'

test.each([
  [
    'a markup without a cost',
    { pricing: costPlus({ markup: '1.3' }) },
    `${unreadable}costPlus requires cost. Set cost to the rates of the model provider`,
  ],
  ['a markup of zero', { cost, pricing: costPlus({ markup: '0' }) }, `${at}.pricing.costPlus.markup: must be a factor`],
  ['a markup in percent', { cost, pricing: costPlus({ markup: '30 %' }) }, `${at}.pricing.costPlus.markup: must be`],
  [
    'a cost with a markup',
    { cost: costPlus({ markup: '2' }), pricing: cost },
    `${at}.cost: must have rates or priceList instead of costPlus`,
  ],
  [
    'rates beside a list',
    { pricing: { ...haiku, ...cost } },
    `${at}.pricing.inputPerMillionUsd: must be omitted if priceList or costPlus is set`,
  ],
])('rejects %s and names the field', (_, prices, message) => {
  expect(() => chatOf(prices)).toThrow(message)
})

test('caching needs a rate of cache writes', () => {
  const model = { specificationVersion: 'v4', doStream() {} }
  const open = (pricing: object, costs?: object, caching: true | '1h' = true) => {
    const agent = {
      kind: 'model',
      id: 'agent',
      name: 'Agent',
      model,
      caching,
      pricing,
      ...(costs && { cost: costs }),
    }
    return new Catalogue({ agents: [agent] } as unknown as ErrandConfig, new PriceLists('.')).agent('agent')!.chat!
      .rates
  }
  const written = { ...cost, cacheWritePerMillionUsd: '3.75' }
  expect(() => open(cost)).toThrow(`${unreadable}caching requires cacheWritePerMillionUsd. Set that rate`)
  expect(() => open(costPlus({ markup: '2' }), cost)).toThrow(
    `${unreadable}caching requires cacheWritePerMillionUsd. Set that rate`,
  )
  expect(() => open(written, undefined, '1h')).toThrow('caching requires cacheWrite1hPerMillionUsd. Set that rate')
  expect(() => open({ ...written, longContext: tier })).toThrow(
    'caching requires cacheWritePerMillionUsd. Set that rate',
  )
  expect(open(written)).toMatchObject({ cacheWrite: 3_750_000 })
  expect(open(costPlus({ markup: '2' }), written)).toMatchObject({ cacheWrite: 7_500_000 })
})

test('a cost needs a rate of cache writes if the provider caches marked prompts', () => {
  const open = (provider: string, own: object) => {
    const model = { specificationVersion: 'v4', provider, modelId: 'model-1', doStream() {} }
    const agent = { kind: 'model', id: 'agent', name: 'Agent', model, caching: true, cost, ...own }
    return new Catalogue({ agents: [agent] } as unknown as ErrandConfig, new PriceLists('.'))
  }
  const chat = { pricing: { ...cost, cacheWritePerMillionUsd: '3.75' } }
  const endpoints = { greet: { description: 'Greets.', priceUsd: '0.01', params: {}, prompt: () => 'Greet.' } }
  for (const own of [chat, { endpoints }]) {
    expect(() => open('anthropic.messages', own)).toThrow(
      'is invalid: caching requires cacheWritePerMillionUsd in cost. Set that rate',
    )
    open('anthropic.messages', { ...own, cost: chat.pricing })
    open('openai.chat', own)
  }
})

test('finds prices below their cost, with their margin', () => {
  const pricing = { inputPerMillionUsd: '2', outputPerMillionUsd: '20', reasoningPerMillionUsd: '0' }
  expect(lossesOf(chatOf({ cost, pricing }))).toEqual([
    { what: 'input tokens', marginPercent: -50 },
    { what: 'cache writes', marginPercent: -50 },
    { what: 'cache writes for an hour', marginPercent: -50 },
    { what: 'reasoning tokens', marginPercent: -100 },
  ])
  expect(lossesOf(chatOf({ cost, pricing: costPlus({ markup: '1.0001' }) }))).toEqual([])
})
