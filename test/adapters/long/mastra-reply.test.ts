import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { mastraReply } from '../../../server/agents/adapters/mastra-reply.ts'
import { textOf } from '../../chat/chat-checks.ts'
import { refuse, reply } from '../../support/model-provider.ts'
import { AdapterWorld, key, testAdapter } from '../adapter-contract.ts'
import { loadFrameworks } from '../load-framework.ts'

const modelAt = (url: string, modelId = 'stub-1') =>
  createOpenAICompatible({ name: 'stub', baseURL: url, apiKey: key, includeUsage: true })(modelId)

async function load() {
  process.env['MASTRA_TELEMETRY_DISABLED'] = '1'
  const load = await loadFrameworks()
  const { Agent } = await load('@mastra/core/agent')
  const { createTool } = await load('@mastra/core/tools')
  const weather = createTool({
    id: 'weather',
    description: 'The weather of a city.',
    inputSchema: z.object({ city: z.string() }),
    execute: async ({ city }: { city: string }) => ({ city, celsius: 21 }),
  })
  const agentWith = (model: unknown, more: object = {}) =>
    new Agent({ id: 'assistant', name: 'Assistant', instructions: 'Be brief.', model, tools: { weather }, ...more })
  return { agentWith }
}

testAdapter('Mastra', async () => {
  const { agentWith } = await load()
  return {
    open: (url) => mastraReply(agentWith(modelAt(url), { maxRetries: 1, defaultOptions: { maxSteps: 20 } })),
    retries: true,
  }
})

test('Mastra: a fallback model is metered as the first one is', async () => {
  const { agentWith } = await load()
  const world = await AdapterWorld.start((url) =>
    mastraReply(
      agentWith([
        { model: modelAt(url), maxRetries: 0 },
        { model: modelAt(url, 'stub-2'), maxRetries: 0 },
      ]),
    ),
  )
  world.provider.play(refuse(503, 'Overloaded.'), reply({ text: ['Second.'] }))
  expect(textOf(await world.talker.chat('Hello'))).toBe('Second.')
  expect(world.provider.bodies.map(({ model }) => model)).toEqual(['stub-1', 'stub-2'])
  expect((await world.charge()).breakdown).toMatchObject({
    promptTokens: 100,
    completionTokens: 20,
    isEstimated: false,
  })
  await world.stop()
})

test("Mastra: a model of the framework's own router, which has private fields, is metered", async () => {
  const { agentWith } = await load()
  const world = await AdapterWorld.start((url) => mastraReply(agentWith({ id: 'stub/stub-1', url, apiKey: key })))
  world.provider.play(reply({ text: ['Routed.'] }))
  try {
    expect(textOf(await world.talker.chat('Hello'))).toBe('Routed.')
    // The router does not request the usage of a custom server, so the tokens are counted.
    expect((await world.charge()).breakdown).toMatchObject({ completionTokens: 3, isEstimated: true })
  } finally {
    await world.stop()
  }
})
