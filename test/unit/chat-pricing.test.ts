import { expect, test } from 'vitest'
import { Catalogue } from '../../server/agents/config/catalogue.ts'
import type { ErrandConfig } from '../../server/agents/config/define-config.ts'

const at = 'agents[0].chat.pricing'

function ratesOf(pricing: object) {
  const agent = { kind: 'code', id: 'agent', name: 'Agent', chat: { pricing, async *reply() {} } }
  return new Catalogue({ agents: [agent] } as unknown as ErrandConfig, null).agent('agent')!.chat!.rates
}

const plain = { inputPerMillionUsd: '3', outputPerMillionUsd: '15' }

test('a rate that is not set is the rate of the class that contains its tokens', () => {
  expect(ratesOf(plain)).toEqual({
    input: 3_000_000,
    cacheRead: 3_000_000,
    cacheWrite: 3_000_000,
    cacheWrite1h: 3_000_000,
    output: 15_000_000,
    reasoning: 15_000_000,
    toolCall: 0,
    longContext: null,
  })
  expect(ratesOf({ ...plain, cacheWritePerMillionUsd: '3.75' })).toMatchObject({ cacheWrite1h: 3_750_000 })
  const longContext = { aboveTokens: 200_000, inputPerMillionUsd: '6', outputPerMillionUsd: '22.5' }
  expect(ratesOf({ ...plain, longContext }).longContext).toMatchObject({ cacheRead: 6_000_000, reasoning: 22_500_000 })
})

test('rates per 1,000 tokens are the same prices', () => {
  const per1k = { inputPer1kUsd: '0.003', cachedInputPer1kUsd: '0.0003', outputPer1kUsd: '0.015', toolCallUsd: '0.01' }
  const perMillion = { ...plain, cacheReadPerMillionUsd: '0.3', toolCallUsd: '0.01' }
  expect(ratesOf(per1k)).toEqual(ratesOf(perMillion))
})

test.each([
  ['no input rate', { outputPerMillionUsd: '1' }, `${at}.inputPerMillionUsd: must be set`],
  ['no output rate', { inputPer1kUsd: '1' }, `${at}.outputPerMillionUsd: must be set`],
  ['a negative rate', { ...plain, inputPerMillionUsd: '-1' }, `${at}.inputPerMillionUsd: must be a USD amount`],
  ['a number', { ...plain, inputPerMillionUsd: 3 }, `${at}.inputPerMillionUsd`],
  ['no number', { ...plain, inputPerMillionUsd: 'NaN' }, `${at}.inputPerMillionUsd: must be a USD amount`],
  ['seven decimals', { ...plain, outputPerMillionUsd: '0.0000001' }, `${at}.outputPerMillionUsd: must be a USD amount`],
  ['an unknown rate', { ...plain, audioPerMillionUsd: '1' }, 'audioPerMillionUsd'],
  ['a second currency', { ...plain, currency: 'EUR' }, 'currency'],
  [
    'both units',
    { ...plain, reasoningPer1kUsd: '0.02' },
    `${at}.reasoningPer1kUsd: must be replaced by reasoningPerMillionUsd, because the other rates are per million tokens`,
  ],
  [
    'a long prompt below the normal rate',
    { ...plain, longContext: { aboveTokens: 1000, inputPerMillionUsd: '2', outputPerMillionUsd: '15' } },
    `${at}.longContext.inputPerMillionUsd: must be at least the highest rate for shorter prompts`,
  ],
  [
    'a long prompt below the normal price of reasoning',
    {
      ...plain,
      reasoningPerMillionUsd: '20',
      longContext: { aboveTokens: 1000, inputPerMillionUsd: '3', outputPerMillionUsd: '15' },
    },
    `${at}.longContext.outputPerMillionUsd: must be at least the highest rate for shorter prompts`,
  ],
  ['a limit of zero tokens', { ...plain, longContext: { aboveTokens: 0, ...plain } }, `${at}.longContext.aboveTokens`],
])('rejects %s and names the field', (_, pricing, message) => {
  expect(() => ratesOf(pricing)).toThrow(message)
})
