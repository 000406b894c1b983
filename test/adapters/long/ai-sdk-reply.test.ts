import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { isStepCount, streamText, tool, ToolLoopAgent } from 'ai'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { aiSdkReply } from '../../../server/agents/adapters/ai-sdk-reply.ts'
import { expectOneEnd, soon, textOf } from '../../chat/chat-checks.ts'
import { endless, reply } from '../../support/model-provider.ts'
import { AdapterWorld, key, testAdapter, weather as callOf } from '../adapter-contract.ts'

globalThis.AI_SDK_LOG_WARNINGS = false

const weather = tool({
  description: 'The weather of a city.',
  inputSchema: z.object({ city: z.string() }),
  execute: ({ city }) => ({ city, celsius: 21 }),
})
const modelAt = (url: string) =>
  createOpenAICompatible({ name: 'stub', baseURL: url, apiKey: key, includeUsage: true })('stub-1')

testAdapter('AI SDK, an agent', async () => ({
  open: (url) => aiSdkReply(new ToolLoopAgent({ model: modelAt(url), instructions: 'Be brief.', tools: { weather } })),
  retries: true,
}))

testAdapter('AI SDK, a function', async () => ({
  open: (url) =>
    aiSdkReply(({ abortSignal, messages, metered }) =>
      streamText({
        model: metered(modelAt(url)),
        messages,
        tools: { weather },
        stopWhen: isStepCount(20),
        abortSignal,
        onError: () => {},
      }),
    ),
  retries: true,
}))

test('a function that ignores the abort signal makes no other model call, and the model is stopped', async () => {
  const world = await AdapterWorld.start((url) =>
    aiSdkReply(({ messages, metered }) =>
      streamText({ model: metered(modelAt(url)), messages, tools: { weather }, stopWhen: isStepCount(20) }),
    ),
  )
  world.provider.play(endless('word '))
  const reader = await world.talker.open('Hello')
  await reader.until('assistant_delta')
  reader.leave()
  await expect.poll(() => world.provider.requests[0]?.abortedAt ?? null, soon).not.toBeNull()
  expect((await world.charge()).breakdown.isEstimated).toBe(true)
  expect(world.provider.requests).toHaveLength(1)
  await world.stop()
})

test('a function whose model is not metered fails before it shows text', async () => {
  const world = await AdapterWorld.start((url) =>
    aiSdkReply(({ messages }) => streamText({ model: modelAt(url), messages, onError: () => {} })),
  )
  world.provider.play(reply({ text: ['Free?'] }))
  const events = await world.talker.chat('Hello')
  expect(expectOneEnd(events, 'error').error.message).toMatch(/not metered/)
  expect(textOf(events)).toBe('')
  await world.stop()
})

test("an agent's own prepareStep chooses the model of a step, which is metered too", async () => {
  const other = await AdapterWorld.start((url) =>
    aiSdkReply(
      new ToolLoopAgent({
        model: 'openai/gpt-5-mini',
        tools: { weather },
        prepareStep: ({ stepNumber }) => ({ model: modelAt(url), temperature: stepNumber === 0 ? 0.1 : 0.2 }),
      }),
    ),
  )
  other.provider.play(reply({ calls: [callOf('call_a', 'Paris')] }), reply({ text: ['Warm.'] }))
  expect(textOf(await other.talker.chat('Hello'))).toBe('Warm.')
  expect(other.provider.bodies.map(({ temperature }) => temperature)).toEqual([0.1, 0.2])
  expect((await other.charge()).breakdown).toMatchObject({ promptTokens: 200, completionTokens: 40 })
  await other.stop()
})
