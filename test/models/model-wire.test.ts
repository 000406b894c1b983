import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateObject, generateText, streamText } from 'ai'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { startTalk, Talker } from '../chat/chat-checks.ts'
import { readSse, WireCalls } from '../openai/wire-calls.ts'
import { say } from '../support/chat-agents.ts'
import { refuse, reply } from '../support/model-provider.ts'
import { instructions, maxOutputTokens, maxSteps } from './model-agents.ts'
import { startModels, type ModelWorld } from './model-checks.ts'

// Models behind /v1, called with the AI SDK like any other provider.

async function callsOf({ service }: ModelWorld, supportsStructuredOutputs = false) {
  const mine = new WireCalls(service, await service.createPerson())
  const baseURL = `${service.url}/v1`
  const options = { name: 'errand', baseURL, apiKey: mine.person.key, includeUsage: true, supportsStructuredOutputs }
  return { mine, provider: createOpenAICompatible(options) }
}

test("generates and streams text, with system messages after the agent's instructions", async () => {
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

const sampling = { top_p: 0.5, presence_penalty: 0.25, frequency_penalty: -0.5, seed: 7 }

test("passes sampling parameters on, and lowers max_tokens to the agent's maximum", async () => {
  const world = await startModels()
  const { mine } = await callsOf(world)
  world.provider.play(reply({ text: ['Yes.'] }))
  const of = { ...sampling, model: 'model' }
  expect((await mine.complete('Hello', { ...of, stop: 'End', max_tokens: 1_000_000 })).status).toBe(200)
  expect((await mine.complete('Hello', { ...of, stop: ['End', '.'] })).status).toBe(200)
  const { body, status } = await mine.respond('Hello', { ...of, max_output_tokens: 1_000_000 })
  expect([status, body.top_p, body.presence_penalty, body.frequency_penalty]).toEqual([200, 0.5, 0.25, -0.5])
  const [first, second, third] = world.provider.bodies
  expect(first).toMatchObject({ ...sampling, stop: ['End'], max_tokens: maxOutputTokens })
  expect(second).toMatchObject({ ...sampling, stop: ['End', '.'] })
  expect(third).toMatchObject({ ...sampling, max_tokens: maxOutputTokens })
  await mine.expectSound()
  await world.stop()
})

/** Extra parameters of vLLM, llama.cpp and OpenRouter. */
const ofServers = { top_k: 40, min_p: 0.05, top_a: 0.1, repetition_penalty: 1.1, mirostat: 2, mirostat_tau: 5 }
const biased = { logit_bias: { 50256: -100, 7: 1.5 } }

test('parameters of OpenAI-compatible servers reach models that support them and are ignored for others', async () => {
  const world = await startModels()
  const { mine } = await callsOf(world)
  const asked = { ...sampling, ...ofServers, ...biased, stop: ['End'] }
  const bodiesOf = async (model: string) => {
    world.provider.play(reply({ text: ['Yes.'] }))
    const completion = await mine.complete('Hello', { ...asked, model })
    expect(completion.status, JSON.stringify(completion.body)).toBe(200)
    const response = await mine.respond('Hello', { ...asked, model })
    expect(response.status, JSON.stringify(response.body)).toBe(200)
    expect(world.provider.bodies).toHaveLength(2)
    return world.provider.bodies
  }
  for (const body of await bodiesOf('model')) expect(body).toMatchObject(asked)
  for (const body of await bodiesOf('basic')) {
    expect(body).toMatchObject({ ...sampling, ...biased, stop: ['End'] })
    for (const name of Object.keys(ofServers)) expect(body, name).not.toHaveProperty(name)
  }
  await mine.expectSound()
  await world.stop()
})

test('a model of another provider gets only parameters that it supports', async () => {
  const world = await startModels()
  const { mine } = await callsOf(world)
  world.provider.play(refuse(400, 'No.'))
  await mine.complete('Hello', { ...ofServers, ...biased, model: 'claude' })
  const [body] = world.provider.bodies
  expect(body.top_k).toBe(40)
  for (const name of ['min_p', 'top_a', 'repetition_penalty', 'mirostat', 'logit_bias']) {
    expect(body, name).not.toHaveProperty(name)
  }
  await mine.expectSound()
  await world.stop()
})

test('both endpoints reject an invalid sampling parameter with 400 and name it', async () => {
  const service = await startTalk()
  const mine = new WireCalls(service, await service.createPerson())
  const bad: [object, string][] = [
    [{ min_p: '0.1' }, 'min_p'],
    [{ top_k: 1.5 }, 'top_k'],
    [{ repetition_penalty: true }, 'repetition_penalty'],
    [{ logit_bias: { Hello: 1 } }, 'logit_bias.Hello'],
    [{ logit_bias: { 7: 101 } }, 'logit_bias.7'],
    [{ logit_bias: Object.fromEntries(Array.from({ length: 1025 }, (_, id) => [id, 1])) }, 'logit_bias'],
    [{ best_of: 2 }, 'best_of'],
    [{ minp: 0.1 }, 'minp'],
  ]
  for (const [more, param] of bad) {
    for (const answer of [await mine.complete('Hello', more), await mine.respond('Hello', more)]) {
      expect([answer.status, answer.body.error?.param], JSON.stringify(more).slice(0, 80)).toEqual([400, param])
    }
  }
  expect(await mine.charges()).toEqual([])
  await service.stop()
})

test('an agent that is not a model ignores sampling parameters', async () => {
  const service = await startTalk()
  const mine = new WireCalls(service, await service.createPerson())
  const message = say({ do: 'tell', what: 'params' })
  const more = { ...sampling, ...ofServers, ...biased, stop: 'End', max_tokens: 5000 }
  const { body } = await mine.complete(message, more)
  expect(JSON.parse(body.choices[0].message.content)).toEqual({ maxTokens: 1000 })
  await service.stop()
})

const call = { id: 'call_a', name: 'weather', args: ['{"city":"Paris"}'] }

test.each([
  { why: "reaches the agent's maximum", scripts: [reply({ text: ['Half'], finish: 'length' })], reason: 'length' },
  {
    why: 'calls tools in its last step',
    scripts: Array.from({ length: maxSteps }, () => reply({ text: ['Half'], calls: [call] })),
    reason: 'length',
  },
  {
    why: 'is filtered by its provider',
    scripts: [reply({ text: ['Half'], finish: 'content_filter' })],
    reason: 'content_filter',
  },
  { why: 'ends by itself', scripts: [reply({ text: ['Whole'] })], reason: 'stop' },
])('every protocol reports that a reply $why', async ({ reason, scripts }) => {
  const world = await startModels()
  const { mine, provider } = await callsOf(world)
  const play = () => world.provider.play(...scripts)
  play()
  const talker = await Talker.create(world.service, { agentId: 'model', person: mine.person })
  expect((await talker.chat('Hello')).at(-1)).toMatchObject({ type: 'done', finishReason: reason })
  for (const stream of [false, true]) {
    play()
    const completion = await mine.complete('Hello', { model: 'model', stream })
    const [choice] = stream ? readSse(completion.body).at(-2)!.data.choices : completion.body.choices
    expect(choice.finish_reason).toBe(reason)
    play()
    const answered = await mine.respond('Hello', { model: 'model', stream })
    const response = stream ? readSse(answered.body).at(-2)!.data.response : answered.body
    const isWhole = reason === 'stop'
    const code = reason === 'length' ? 'max_output_tokens' : 'content_filter'
    expect(response).toMatchObject({
      status: isWhole ? 'completed' : 'incomplete',
      incomplete_details: isWhole ? null : { reason: code },
    })
    expect((await mine.get(`/responses/${response.id}`)).body.incomplete_details).toEqual(response.incomplete_details)
  }
  play()
  const { finishReason } = await generateText({ model: provider('model'), prompt: 'Hello', maxRetries: 0 })
  expect(finishReason).toBe(reason.replace('_', '-'))
  await mine.expectSound()
  await world.stop()
})

test('generates an object, and sends its schema to providers that accept one', async () => {
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
      // A client without schema support does not send the schema; such a provider gets the schema as text.
      if (isStrict && !isSent) expect(messages[0].content).toContain('"pages"')
    }
    expect(await mine.charges()).toHaveLength(2)
    await mine.expectSound()
  }
  await world.stop()
})
