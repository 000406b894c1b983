import { expect, test } from 'vitest'
import { chatUse } from '../../server/billing/chat-price.ts'
import type { ModelStep } from '../../server/agents/run/chat-messages.ts'
import type { ChatPart } from '../../server/agents/config/define-config.ts'
import { markTokens } from '../../server/agents/run/prompt-size.ts'
import { ModelSteps } from '../../server/agents/model/model-steps.ts'
import type { ModelUsage } from '../../server/agents/threads/delta-bypass.ts'
import { ReplyUse } from '../../server/agents/run/reply-use.ts'
import { ratesAt } from '../support/rates.ts'

const rates = ratesAt({ input: 1, output: 1, toolCall: 1 })
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
  // In a prompt that fills the context, a file counts only its estimate.
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
  const use = new ReplyUse({ message: '', around, isPromptKnown: true, isHistoryCached: false, rates, room: 1_000_000 })
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

test('until usage is reported, prices history as cached and the rest as written, if the provider charges for it', () => {
  const of = {
    message: 'x'.repeat(400),
    around: { tokens: 0, tokensMax: 0 },
    isPromptKnown: true,
    rates: { ...rates, cacheRead: 0 },
    room: 1_000_000,
  }
  const step = { promptTokens: 5000, promptTokensMax: 5000, outputTokensMax: 100 }
  for (const [isHistoryCached, cacheWrite, cachedPromptTokens, cacheWriteTokens] of [
    [true, 1, 4900, 0],
    [true, 2, 4900, 100],
    [false, 2, 0, 0],
  ] as const) {
    const use = new ReplyUse({ ...of, rates: { ...of.rates, cacheWrite: cacheWrite * rates.input }, isHistoryCached })
    use.beginStep(step)
    expect(use.used).toMatchObject({ promptTokens: 5000, cachedPromptTokens, cacheWriteTokens })
  }
})
