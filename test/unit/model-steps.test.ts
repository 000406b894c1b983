import { expect, test } from 'vitest'
import { chatHold, chatUse } from '../../server/billing/chat-price.ts'
import type { ModelStep } from '../../server/agents/run/chat-messages.ts'
import type { ChatPart } from '../../server/agents/config/define-config.ts'
import { markTokens } from '../../server/agents/run/prompt-size.ts'
import { ModelSteps } from '../../server/agents/model/model-steps.ts'
import type { ModelUsage } from '../../server/agents/threads/delta-bypass.ts'
import { ReplyUse } from '../../server/agents/run/reply-use.ts'
import { ratesAt } from '../support/rates.ts'

const rates = ratesAt({ input: 1, output: 1, toolCall: 1 })
const stopped = {
  message: 'x'.repeat(400),
  around: { tokens: 0, tokensMax: 0 },
  isPromptKnown: true,
  room: 1_000_000,
}
const sent = { prompt: [{ role: 'system' as const, content: 'Be brief.' }], maxOutputTokens: 300 }

function beginSteps() {
  const opened: ModelStep[] = []
  const told: ChatPart[] = []
  const steps = new ModelSteps({
    contextTokens: 1000,
    openStep: async (step) => {
      opened.push(step)
      return { outputTokensMax: 200, onEnd: () => {} }
    },
    onUsage: (usage) => told.push(usage),
  })
  return { opened, steps, told }
}

test('holds money for a retried model call only once', async () => {
  const { opened, steps } = beginSteps()
  expect(await steps.begin(sent)).toBe(200)
  expect(await steps.begin(sent)).toBe(200)
  expect(opened).toHaveLength(1)
  steps.answered()
  await steps.begin(sent)
  expect(opened).toHaveLength(2)
})

test('counts a file without a token limit as the rest of the context', async () => {
  const fileOf = (tokensMax: number | null) => ({
    type: 'file' as const,
    data: { type: 'data' as const, data: new Uint8Array(8) },
    mediaType: 'application/pdf',
    providerOptions: markTokens({ tokens: 2, tokensMax }),
  })
  const maxOf = async (files: (number | null)[], text = 'x'.repeat(400)) => {
    const { opened, steps } = beginSteps()
    const content = [{ type: 'text' as const, text }, ...files.map(fileOf)]
    await steps.begin({ prompt: [{ role: 'user', content }], maxOutputTokens: 300 })
    return opened[0]!.promptTokensMax
  }
  const bounded = await maxOf([50, 50])
  expect(await maxOf([null, 50])).toBe(bounded - 50 + (1000 - 100 - 2))
  expect(await maxOf([null, null])).toBe(bounded - 100 + (1000 - 100))
  // In a prompt that fills the context, a file counts only with its estimate.
  expect(await maxOf([null], 'x'.repeat(8000))).toBe((await maxOf([0], 'x'.repeat(8000))) + 2)
})

test('counts earlier reasoning toward the next prompt, even if the prompt only references it', async () => {
  const { opened, steps } = beginSteps()
  await steps.begin(sent)
  steps.answered()
  steps.reported({ inputTokens: { total: 10 }, outputTokens: { total: 80, reasoning: 70 } } as ModelUsage)
  await steps.end('tool-calls')
  await steps.begin(sent)
  expect(opened[1]!.promptTokensMax).toBe(Math.min(10 + 70, opened[0]!.promptTokensMax + 70))
})

test('reports the usage of a call even after the next one has started', async () => {
  const { steps, told } = beginSteps()
  await steps.begin(sent)
  steps.answered()
  steps.wrote('one two three four five')
  await steps.begin(sent)
  steps.answered()
  const ended = steps.end('tool-calls')
  steps.wrote('{"city":"Bern"}')
  await ended
  await steps.end('stop')
  expect(told).toMatchObject([{ completionTokens: 5 }, { completionTokens: 5 }])
})

test('each model call stays open until its usage is reported', () => {
  const around = { tokens: 0, tokensMax: 0 }
  const use = new ReplyUse({
    ...stopped,
    message: '',
    around,
    isHistoryCached: false,
    caching: false,
    rates,
  })
  for (const tokens of [10, 200]) {
    use.beginStep({ promptTokens: tokens, promptTokensMax: tokens, outputTokensMax: tokens })
  }
  expect(use.bound).toMatchObject({ promptTokens: 210, completionTokens: 210 })
  use.calls.add('a')
  use.report(chatUse({ promptTokens: 5, completionTokens: 1 }), false)
  expect(use.hasOpenStep).toBe(true)
  expect(use.bound).toMatchObject({ promptTokens: 205, completionTokens: 201, toolCalls: 1 })
  use.report(chatUse({ promptTokens: 100, completionTokens: 2 }), false)
  expect(use.hasOpenStep).toBe(false)
  expect(use.bound).toMatchObject({ promptTokens: 105, completionTokens: 3, toolCalls: 1 })
})

test.each([
  [true, false, { cachedPromptTokens: 4900, cacheWriteTokens: 0, cacheWrite1hTokens: 0 }],
  [false, false, { cachedPromptTokens: 0, cacheWriteTokens: 0, cacheWrite1hTokens: 0 }],
  [true, true, { cachedPromptTokens: 4900, cacheWriteTokens: 100, cacheWrite1hTokens: 0 }],
  [false, true, { cachedPromptTokens: 0, cacheWriteTokens: 5000, cacheWrite1hTokens: 0 }],
  [false, '1h', { cachedPromptTokens: 0, cacheWriteTokens: 5000, cacheWrite1hTokens: 5000 }],
] as const)('estimates what a prompt read from the cache (known: %s) and wrote to it (caching: %s)', (...of) => {
  const [isHistoryCached, caching, cached] = of
  const use = new ReplyUse({ ...stopped, rates: { ...rates, cacheRead: 0 }, isHistoryCached, caching })
  use.beginStep({ promptTokens: 5000, promptTokensMax: 5000, outputTokensMax: 100 })
  expect(use.used).toMatchObject({ promptTokens: 5000, ...cached })
})

test('no provider caches a prompt of less than 1,024 tokens', () => {
  const use = new ReplyUse({ ...stopped, rates, isHistoryCached: false, caching: true })
  use.beginStep({ promptTokens: 1023, promptTokensMax: 5000, outputTokensMax: 100 })
  expect(use.used.cacheWriteTokens).toBe(0)
})

test('each open call has the rates of its own prompt, so that the estimate never exceeds the bound', () => {
  const long = { ...rates, input: 2000, cacheRead: 2000, cacheWrite: 2000, cacheWrite1h: 2000, aboveTokens: 4000 }
  const tiered = { ...rates, longContext: long }
  const use = new ReplyUse({ ...stopped, rates: tiered, isHistoryCached: false, caching: false })
  for (const promptTokens of [3000, 5000])
    use.beginStep({ promptTokens, promptTokensMax: promptTokens, outputTokensMax: 1 })
  expect(use.used).toMatchObject({ promptTokens: 8000, longContext: { promptTokens: 5000 } })
  expect(chatHold(use.used, tiered)).toBeLessThanOrEqual(chatHold(use.bound, tiered))
})
