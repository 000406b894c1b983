import { expect, test } from 'vitest'
import { Catalogue } from '../../server/agents/config/catalogue.ts'
import type { ErrandConfig } from '../../server/agents/config/define-config.ts'

const run = () => ({})
const at = 'agents[0].endpoints.run'

function open(kind: 'code' | 'http' | 'model', price: object): Catalogue {
  const own = {
    code: { run },
    http: {},
    model: { prompt: () => 'x' },
  }[kind]
  const endpoint = { description: 'Runs.', params: {}, ...own, ...price }
  const of = {
    code: {},
    http: { url: 'https://agent.example.com', secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' },
    model: { model: { specificationVersion: 'v3', doStream() {} } },
  }[kind]
  const agent = { kind, id: 'agent', name: 'Agent', endpoints: { run: endpoint }, ...of }
  return new Catalogue({ agents: [agent] } as unknown as ErrandConfig, null)
}

const pricing = { events: { page: '0.0020', 'figure-a': '0.03' }, maxUsd: '1' }

test.each(['code', 'http'] as const)('a %s endpoint has a price for each event and a maximum price', (kind) => {
  expect(open(kind, { pricing }).endpoint('agent.run')).toMatchObject({
    price: 10_000,
    meters: { page: 20, 'figure-a': 300 },
  })
  expect(open(kind, { priceUsd: '0.01' }).endpoint('agent.run')).toMatchObject({ price: 100, meters: null })
})

const events = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`e${at}`, '0.01']))

test.each([
  ['both a price and event pricing', { priceUsd: '1', pricing }, `${at}: must have either priceUsd or pricing`],
  ['no price', {}, `${at}: must have either priceUsd or pricing`],
  ['no event', { pricing: { ...pricing, events: {} } }, `${at}.pricing.events: must have 1 to 32 events`],
  ['33 events', { pricing: { ...pricing, events: events(33) } }, `${at}.pricing.events: must have 1 to 32 events`],
  [
    'a free event',
    { pricing: { ...pricing, events: { page: '0' } } },
    `${at}.pricing.events.page: must be a USD amount`,
  ],
  [
    'five decimal places',
    { pricing: { ...pricing, events: { page: '0.00001' } } },
    `${at}.pricing.events.page: must be`,
  ],
  ['a name with spaces', { pricing: { ...pricing, events: { 'a b': '1' } } }, `${at}.pricing.events.a b`],
  ['no maximum', { pricing: { events: pricing.events } }, `${at}.pricing.maxUsd`],
  ['a maximum of zero', { pricing: { ...pricing, maxUsd: '0' } }, `${at}.pricing.maxUsd: must be a USD amount`],
  [
    'a maximum below an event price',
    { pricing: { ...pricing, maxUsd: '0.02' } },
    `${at}.pricing.maxUsd: must be at least`,
  ],
])('rejects %s and names the invalid field', (_, price, message) => {
  expect(() => open('code', price)).toThrow(message)
  expect(() => open('http', price)).toThrow(message)
})

test('a model endpoint accepts a fixed price or the price of its tokens', () => {
  expect(open('model', { priceUsd: '0.01' }).endpoint('agent.run')).toMatchObject({ price: 100, meters: null })
  const tokens = { inputPerMillionUsd: '3', outputPerMillionUsd: '15' }
  const priced = open('model', { pricing: { tokens, maxUsd: '0.5' } }).endpoint('agent.run')
  expect(priced).toMatchObject({ price: 5000, meters: null, rates: { input: 3_000_000, output: 15_000_000 } })
  expect(() => open('model', { pricing: { ...pricing, tokens } })).toThrow(
    `${at}.pricing.events: must be omitted, because model agents do not charge events`,
  )
  expect(() => open('model', { pricing: { tokens, maxUsd: '0.5' }, priceUsd: '1' })).toThrow(
    `${at}: must have either priceUsd or pricing`,
  )
  expect(() => open('model', { pricing: { tokens: { inputPerMillionUsd: '-3' }, maxUsd: '1' } })).toThrow(
    `${at}.pricing.tokens.inputPerMillionUsd: must be a USD amount`,
  )
  expect(() => open('model', { pricing: { tokens, maxUsd: '0' } })).toThrow(`${at}.pricing.maxUsd: must be`)
})

test('an endpoint of a code agent has either run, or prompt and reply', () => {
  const tokens = { inputPerMillionUsd: '3', outputPerMillionUsd: '15' }
  const reply = { run: undefined, prompt: () => 'x', async *reply() {} }
  const priced = open('code', { ...reply, cost: tokens, pricing: { tokens, maxUsd: '0.5' } }).endpoint('agent.run')
  expect(priced).toMatchObject({
    price: 5000,
    meters: null,
    rates: { input: 3_000_000 },
    costs: [{ output: 15_000_000 }],
  })
  const either = `${at}: must have either run, or prompt and reply`
  const priceUsd = '0.01'
  for (const wrong of [{ run: undefined }, { ...reply, run }, { ...reply, prompt: undefined }, { cost: tokens }])
    expect(() => open('code', { priceUsd, ...wrong })).toThrow(either)
  const prices = `${at}.pricing: must have events if the endpoint has run, or tokens if it has reply`
  expect(() => open('code', { ...reply, pricing })).toThrow(prices)
  expect(() => open('code', { ...reply, pricing: { ...pricing, tokens } })).toThrow(prices)
  expect(() => open('code', { pricing: { tokens, maxUsd: '0.5' } })).toThrow(prices)
})

test('accepts 32 events', () => {
  const { meters } = open('code', { pricing: { events: events(32), maxUsd: '1' } }).endpoint('agent.run')!
  expect(Object.keys(meters!)).toHaveLength(32)
})
