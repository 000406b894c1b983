import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateObject, generateText, streamText } from 'ai'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { WireCalls } from '../openai/wire-calls.ts'
import { reply } from '../support/model-provider.ts'
import { instructions } from './model-agents.ts'
import { startModels, type ModelWorld } from './model-checks.ts'

// Models behind /v1, called by the AI SDK as they would be anywhere else.

async function callsOf({ service }: ModelWorld, supportsStructuredOutputs = false) {
  const mine = new WireCalls(service, await service.createPerson())
  const baseURL = `${service.url}/v1`
  const options = { name: 'errand', baseURL, apiKey: mine.person.key, includeUsage: true, supportsStructuredOutputs }
  return { mine, provider: createOpenAICompatible(options) }
}

test('text is generated and streamed; what the system says comes after the instructions of the agent', async () => {
  const world = await startModels()
  const { mine, provider } = await callsOf(world)
  world.provider.play(reply({ text: ['Good ', 'morning.'] }))
  const ask = { model: provider('model'), maxRetries: 0 }
  const whole = await generateText({
    ...ask,
    instructions: 'Speak as a pirate.',
    prompt: 'Greet me.',
    temperature: 0.5,
  })
  expect([whole.text, whole.finishReason]).toEqual(['Good morning.', 'stop'])
  expect(whole.usage).toMatchObject({ inputTokens: 100, outputTokens: 20, totalTokens: 120 })
  expect(world.provider.bodies[0]).toMatchObject({
    temperature: 0.5,
    messages: [
      { role: 'system', content: `${instructions}\n\nSpeak as a pirate.` },
      { role: 'user', content: 'Greet me.' },
    ],
  })
  const messages = [
    { role: 'user', content: 'One' },
    { role: 'assistant', content: 'Two' },
    { role: 'user', content: 'Three' },
  ] as const
  const streamed = streamText({ ...ask, messages: [...messages] })
  expect(await streamed.text).toBe('Good morning.')
  expect(await streamed.usage).toMatchObject({ inputTokens: 100, outputTokens: 20 })
  expect(world.provider.bodies.at(-1).messages.slice(1)).toEqual(messages)
  expect(await mine.charges()).toHaveLength(2)
  await mine.expectSound()
  await world.stop()
})

test('an object is generated, by a schema that reaches the provider where it takes one', async () => {
  const world = await startModels()
  const schema = z.object({ title: z.string(), pages: z.number().int() })
  for (const isStrict of [false, true]) {
    const { mine, provider } = await callsOf(world, isStrict)
    for (const agent of ['model', 'strict']) {
      world.provider.play(reply({ text: ['{"title":"It",', '"pages":7}'] }))
      const model = provider(agent)
      const { object } = await generateObject({ model, schema, prompt: 'A book.', maxRetries: 0 })
      expect(object).toEqual({ title: 'It', pages: 7 })
      const [{ messages, response_format: format }] = world.provider.bodies
      const isSent = isStrict && agent === 'strict'
      expect(format.type, `${agent} ${isStrict}`).toBe(isSent ? 'json_schema' : 'json_object')
      // A client that takes no schemas does not send it; a provider that takes none is told in words.
      if (isStrict && !isSent) expect(messages[0].content).toContain('"pages"')
    }
    expect(await mine.charges()).toHaveLength(2)
    await mine.expectSound()
  }
  await world.stop()
})
