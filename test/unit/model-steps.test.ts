import { expect, test } from 'vitest'
import type { ModelStep } from '../../server/agents/run/chat-messages.ts'
import type { ChatPart } from '../../server/agents/config/define-config.ts'
import { ModelSteps } from '../../server/agents/model/model-steps.ts'
import type { ModelUsage } from '../../server/agents/threads/delta-bypass.ts'
import { ReplyStream } from '../../server/agents/run/reply-stream.ts'

const rates = { input: 1, cachedInput: 1, output: 1, reasoning: 1, toolCall: 1 }
const sent = { prompt: [{ role: 'system' as const, content: 'Be brief.' }], maxOutputTokens: 300 }

function beginSteps() {
  const opened: ModelStep[] = []
  const told: ChatPart[] = []
  const steps = new ModelSteps({
    openStep: async (step) => {
      opened.push(step)
      return { outputTokensMax: 200, onEnd: () => {} }
    },
    onUsage: (usage) => told.push(usage),
  })
  return { opened, steps, told }
}

test('a call of a model that is tried again is held once', async () => {
  const { opened, steps } = beginSteps()
  expect(await steps.begin(sent)).toBe(200)
  expect(await steps.begin(sent)).toBe(200)
  expect(opened).toHaveLength(1)
  steps.answered()
  await steps.begin(sent)
  expect(opened).toHaveLength(2)
})

test('what was thought about a request may be part of the next one, though it is only referred to', async () => {
  const { opened, steps } = beginSteps()
  await steps.begin(sent)
  steps.answered()
  steps.reported({ inputTokens: { total: 10 }, outputTokens: { total: 80, reasoning: 70 } } as ModelUsage)
  steps.end('tool-calls')
  await steps.begin(sent)
  expect(opened[1]!.promptTokensMax).toBe(Math.min(10 + 70, opened[0]!.promptTokensMax + 70))
})

test('the end of a call is told of it, though the next one has begun', async () => {
  const { steps, told } = beginSteps()
  await steps.begin(sent)
  steps.answered()
  steps.wrote('x'.repeat(400))
  await steps.begin(sent)
  steps.answered()
  steps.end('tool-calls')
  steps.wrote('x'.repeat(40))
  steps.end('stop')
  expect(told).toMatchObject([{ completionTokens: 100 }, { completionTokens: 10 }])
})

test('calls of a model are under way until each is reported', () => {
  const stream = new ReplyStream({
    promptTokens: 0,
    promptTokensMax: 0,
    isPromptKnown: true,
    rates,
    hasReasoning: false,
    bytesMax: 1000,
    onDirty: () => {},
  })
  for (const tokens of [10, 200]) {
    stream.beginStep({ promptTokens: tokens, promptTokensMax: tokens, outputTokensMax: tokens })
  }
  expect(stream.bound).toMatchObject({ promptTokens: 210, completionTokens: 210 })
  stream.count({ type: 'tool-call', id: 'a', name: 'look', arguments: {} })
  stream.count({ type: 'usage', promptTokens: 5, completionTokens: 1 })
  expect(stream.hasOpenStep).toBe(true)
  expect(stream.bound).toMatchObject({ promptTokens: 205, completionTokens: 201, toolCalls: 1 })
  stream.count({ type: 'usage', promptTokens: 100, completionTokens: 2 })
  expect(stream.hasOpenStep).toBe(false)
  expect(stream.bound).toMatchObject({ promptTokens: 105, completionTokens: 3, toolCalls: 1 })
})
