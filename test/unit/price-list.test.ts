import { expect, test } from 'vitest'
import { readPriceList, writePriceList } from '../../server/agents/prices/price-list.ts'

const price = (text: string, model: string) => readPriceList(text).prices.get(model)
const reason = (text: string, model: string) => readPriceList(text).unusable.get(model)

// Entries as models.dev's api.json and LiteLLM's map list them, without the fields that are not prices.
const modelsDev = {
  openai: {
    id: 'openai',
    models: {
      'gpt-5-mini': { id: 'gpt-5-mini', cost: { input: 0.25, output: 2, cache_read: 0.025 } },
      'gpt-5.5': {
        id: 'gpt-5.5',
        cost: {
          input: 5,
          output: 30,
          cache_read: 0.5,
          tiers: [{ input: 10, output: 45, cache_read: 1, tier: { type: 'context', size: 272_000 } }],
          context_over_200k: { input: 10, output: 45, cache_read: 1 },
        },
      },
      'text-embedding-3-small': { id: 'text-embedding-3-small' },
    },
  },
  anthropic: {
    id: 'anthropic',
    models: {
      'claude-sonnet-4-5': {
        cost: {
          input: 3,
          output: 15,
          cache_read: 0.3,
          cache_write: 3.75,
          context_over_200k: { input: 6, output: 22.5 },
        },
      },
      free: { cost: { input: 0, output: 0 } },
      audio: { cost: { input: 1, output: 2, tiers: [{ tier: { type: 'seconds', size: 1 } }] } },
      tiered: { cost: { input: 1, output: 2, tiers: [{ tier: { size: 1 } }, { tier: { size: 2 } }] } },
      half: { cost: { input: 1 } },
      negative: { cost: { input: -1, output: 1 } },
      text: { cost: { input: '1', output: 1 } },
      fine: { cost: { input: 1e-7, output: 1 } },
      euro: { cost: { currency: 'EUR', input: 1, output: 1 } },
    },
  },
}
const litellm = {
  sample_spec: { input_cost_per_token: 0, output_cost_per_token: 0, mode: 'one of: chat, …' },
  'claude-sonnet-4-5': {
    cache_creation_input_token_cost: 3.75e-6,
    cache_creation_input_token_cost_above_1hr: 6e-6,
    cache_creation_input_token_cost_above_1hr_above_200k_tokens: 1.2e-5,
    cache_creation_input_token_cost_above_200k_tokens: 7.5e-6,
    cache_read_input_token_cost: 3e-7,
    cache_read_input_token_cost_above_200k_tokens: 6e-7,
    input_cost_per_token: 3e-6,
    input_cost_per_token_above_200k_tokens: 6e-6,
    output_cost_per_token: 1.5e-5,
    output_cost_per_token_above_200k_tokens: 2.25e-5,
  },
  'deepseek-v4-pro': {
    cache_read_input_token_cost: 3.625e-9,
    input_cost_per_token: 4.35e-7,
    output_cost_per_token: 8.7e-7,
  },
  'dall-e-3': { mode: 'image_generation', output_cost_per_image: 0.04 },
}

test('reads models.dev, with tiers in the old and in the new form', () => {
  const text = JSON.stringify(modelsDev)
  expect(price(text, 'openai/gpt-5-mini')).toEqual({
    inputPerMillionUsd: '0.25',
    outputPerMillionUsd: '2',
    cacheReadPerMillionUsd: '0.025',
  })
  expect(price(text, 'openai/gpt-5.5')?.longContext).toEqual({
    aboveTokens: 272_000,
    inputPerMillionUsd: '10',
    outputPerMillionUsd: '45',
    cacheReadPerMillionUsd: '1',
  })
  // Rates that the tier omits grow in proportion to the input rate.
  expect(price(text, 'anthropic/claude-sonnet-4-5')?.longContext).toEqual({
    aboveTokens: 200_000,
    inputPerMillionUsd: '6',
    outputPerMillionUsd: '22.5',
    cacheReadPerMillionUsd: '0.6',
    cacheWritePerMillionUsd: '7.5',
  })
})

test('reads LiteLLM, whose prices per token are floating-point numbers', () => {
  const text = JSON.stringify(litellm)
  expect(price(text, 'claude-sonnet-4-5')).toEqual({
    inputPerMillionUsd: '3',
    outputPerMillionUsd: '15',
    cacheReadPerMillionUsd: '0.3',
    cacheWritePerMillionUsd: '3.75',
    cacheWrite1hPerMillionUsd: '6',
    longContext: {
      aboveTokens: 200_000,
      inputPerMillionUsd: '6',
      outputPerMillionUsd: '22.5',
      cacheReadPerMillionUsd: '0.6',
      cacheWritePerMillionUsd: '7.5',
      cacheWrite1hPerMillionUsd: '12',
    },
  })
  expect(price(text, 'deepseek-v4-pro')).toMatchObject({
    inputPerMillionUsd: '0.435',
    cacheReadPerMillionUsd: '0.003625',
  })
  expect([...readPriceList(text).prices.keys()]).toEqual(['claude-sonnet-4-5', 'deepseek-v4-pro'])
})

test('a rate of cache writes below the input rate means no surcharge, and an omitted long rate grows', () => {
  const model = {
    input_cost_per_token: 2e-6,
    output_cost_per_token: 1.2e-5,
    output_cost_per_reasoning_token: 1.2e-5,
    cache_creation_input_token_cost: 0,
    input_cost_per_token_above_200k_tokens: 4e-6,
    output_cost_per_token_above_200k_tokens: 1.8e-5,
    cache_creation_input_token_cost_above_200k_tokens: 2.5e-7,
  }
  expect(price(JSON.stringify({ model }), 'model')).toEqual({
    inputPerMillionUsd: '2',
    outputPerMillionUsd: '12',
    reasoningPerMillionUsd: '12',
    longContext: {
      aboveTokens: 200_000,
      inputPerMillionUsd: '4',
      outputPerMillionUsd: '18',
      reasoningPerMillionUsd: '18',
    },
  })
  const tiered = { ...model, tiered_pricing: [] }
  expect(reason(JSON.stringify({ tiered }), 'tiered')).toMatch(/at most one tier/)
})

test('a misspelt field of our own list is no price', () => {
  const a = { inputPerMillionUsd: '1', outputPerMillionUsd: '2', cacheReadPerMilionUsd: '1' }
  expect(reason(JSON.stringify({ models: { a } }), 'a')).toBe('must not have the unknown field cacheReadPerMilionUsd')
})

test('reads what it writes', () => {
  const { prices } = readPriceList(JSON.stringify(litellm))
  const again = readPriceList(writePriceList(prices))
  expect(again.prices).toEqual(prices)
  expect(again.version).toMatch(/^[0-9a-f]{12}$/)
  expect(readPriceList(`${writePriceList(prices)} `).version).not.toBe(again.version)
})

test.each([
  ['openai/text-embedding-3-small', 'must have a cost'],
  ['anthropic/tiered', 'must have at most one tier, the one for long prompts'],
  ['anthropic/free', 'must not be listed as free'],
  ['anthropic/audio', 'must not have a tier that does not depend on the prompt length'],
  ['anthropic/half', 'must have a price for output tokens'],
  ['anthropic/negative', 'has the price -1 (input), which must be a number from 0 to 9999999.999999'],
  ['anthropic/text', 'has the price "1" (input), which must be a number from 0 to 9999999.999999'],
  ['anthropic/fine', 'has the price 1e-7 (input), which must have at most 6 decimals per million tokens'],
  ['anthropic/euro', 'must have prices in USD instead of "EUR"'],
])('%s has no usable price: it %s', (model, message) => {
  expect(price(JSON.stringify(modelsDev), model)).toBeUndefined()
  expect(reason(JSON.stringify(modelsDev), model)).toBe(message)
})

test.each([
  ['no JSON', '{', /^must be valid JSON: /],
  ['a list', '[]', /^must be a JSON object$/],
  ['another object', '{"a":1}', /^must have prices in the format of models.dev, LiteLLM or Errand$/],
  [
    'an id twice',
    '{"a":{"input_cost_per_token":1e-6,"output_cost_per_token":1e-6},"a":{"input_cost_per_token":2e-6}}',
    /^must not have the key "a" twice in one object$/,
  ],
  [
    'a price twice',
    '{"models":{"a":{"inputPerMillionUsd":"1","inputPerMillionUsd":"2"}}}',
    /"inputPerMillionUsd" twice/,
  ],
  ['another currency', '{"currency":"EUR","models":{}}', /^must have prices in USD instead of "EUR"$/],
])('a file with %s is not a price list', (_, text, message) => {
  expect(() => readPriceList(text)).toThrow(message)
})
