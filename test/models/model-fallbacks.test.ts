import { expect, test } from 'vitest'
import { readMetrics } from '../api/exposition.ts'
import { expectOneEnd, Talker, textOf, unitsOf } from '../chat/chat-checks.ts'
import { ofTier } from '../run/tiers.ts'
import { cut, refuse, reply, replyThen, sendBytes, sendLast, type Script } from '../support/model-provider.ts'
import { expectFailedChat, onlyCharge, startModels, type ModelWorld } from './model-checks.ts'

const usage = { prompt_tokens: 1000, completion_tokens: 100 }
const answer = reply({ text: ['Hello.'], usage })
const down = refuse(503, 'The model is overloaded.')
const modes = ofTier([{ inThreads: true }], [{ inThreads: false }, { inThreads: true }])

const talk = ({ service }: ModelWorld, balanceUsd = '5.0000') =>
  Talker.create(service, { agentId: 'backed', balanceUsd })
const calledModels = ({ provider }: ModelWorld) => provider.bodies.map(({ model }) => model as string)

test.for(modes)('a reply of the first model costs its own price (threads: $inThreads)', async ({ inThreads }) => {
  const world = await startModels({ inThreads })
  world.provider.play(answer)
  const talker = await talk(world)
  expectOneEnd(await talker.chat('Hi'), 'done')
  const { amountUsd, breakdown } = await onlyCharge(talker)
  // 1,000 × 100 + 100 × 200 per million.
  expect(amountUsd).toBe('-0.1200')
  expect(breakdown).toMatchObject({ model: 'stub-1', rates: { inputPerMillionUsd: '100', outputPerMillionUsd: '200' } })
  expect(calledModels(world)).toEqual(['stub-1'])
  await world.stop()
})

const failures: [string, Script][] = [
  ['429', refuse(429, 'Slow down.')],
  ['503', down],
  ['a lost connection', cut],
  ['a stream that begins with an error', sendLast({ error: { message: 'Overloaded.', type: 'overloaded' } })],
  ['a stream that begins with garbage', sendBytes(['data: {{{\n\n'])],
]
const [firstFailure] = failures
const cases = modes.flatMap(({ inThreads }) => {
  // Tries only the first failure in threads in the small tier, because a thread takes seconds to load the AI SDK.
  const tried = inThreads ? ofTier([firstFailure!], failures) : failures
  return tried.map(([name, fail]) => ({ inThreads, name, fail }))
})
test.for(cases)(
  'after $name the second model answers at its own price (threads: $inThreads)',
  async ({ fail, inThreads }) => {
    const world = await startModels({ inThreads })
    world.provider.play(fail, answer)
    const talker = await talk(world)
    const events = await talker.chat('Hi')
    expectOneEnd(events, 'done')
    expect(textOf(events)).toBe('Hello.')
    const { amountUsd, breakdown } = await onlyCharge(talker)
    // 1,000 × 300 + 100 × 900 per million.
    expect(amountUsd).toBe('-0.3900')
    expect(breakdown).toMatchObject({ model: 'stub-2', promptTokens: 1000, completionTokens: 100, isEstimated: false })
    expect(breakdown.rates).toMatchObject({ inputPerMillionUsd: '300', outputPerMillionUsd: '900' })
    expect(calledModels(world)).toEqual(['stub-1', 'stub-2'])
    // 1,000 × 200 + 100 × 800 per million.
    const samples = await readMetrics(world.service)
    expect(samples.get('errand_chat_provider_cost_usd_total{agent="backed"}')).toBeCloseTo(0.28, 9)
    await world.stop()
  },
)

test('all model calls of a reply go to the model that answered the first one', async () => {
  const world = await startModels()
  const call = { id: 'call-1', name: 'weather', args: '{"city":"Bern"}' }
  world.provider.play(down, reply({ calls: [call], finish: 'tool_calls', usage }), answer)
  const talker = await talk(world)
  expectOneEnd(await talker.chat('Weather?'), 'done')
  expect(calledModels(world)).toEqual(['stub-1', 'stub-2', 'stub-2'])
  expect((await onlyCharge(talker)).amountUsd).toBe('-0.7800')
  await world.stop()
})

test('a provider that refuses the request, and a stream that breaks, are not replaced', async () => {
  const world = await startModels()
  const talker = await talk(world)
  world.provider.play(refuse(400, 'The prompt is not allowed.'), answer)
  await expectFailedChat(talker, /prompt is not allowed/)
  expect(calledModels(world)).toEqual(['stub-1'])
  world.provider.play(replyThen({ text: ['Hel'] }, cut), answer)
  await expectFailedChat(talker, /connection|cut off/)
  expect(calledModels(world)).toEqual(['stub-1'])
  world.provider.play(refuse(401, 'The key is wrong.'), answer)
  await expectFailedChat(talker, /key is wrong/)
  expect(calledModels(world)).toEqual(['stub-1'])
  await world.stop()
})

test('if no model can answer, the chat fails with the reason of the last one and costs nothing', async () => {
  const world = await startModels()
  const talker = await talk(world)
  world.provider.play(down, refuse(500, 'It broke.'), down, refuse(500, 'It broke.'), down, refuse(500, 'It broke.'))
  await expectFailedChat(talker, /It broke/)
  expect(calledModels(world)).toEqual(['stub-1', 'stub-2', 'stub-1', 'stub-2', 'stub-1', 'stub-2'])
  await world.stop()
})

test('a chat starts only if the balance covers the most expensive model', async () => {
  const world = await startModels()
  world.provider.play(answer)
  const talker = await talk(world, '0.2000')
  // At one token per byte, 2,000 tokens cost 0.2 with the first model and 0.6 with the second one.
  const refused = await talker.open('7'.repeat(2000))
  expect(refused.status).toBe(403)
  expect((await refused.end()).error.code).toBe('INSUFFICIENT_BALANCE')
  expect(world.provider.requests).toEqual([])
  await world.stop()
})

test('once a model answers, only its own price is held', async () => {
  const world = await startModels()
  // Enough for each call at the price of the second model, but not for both.
  const talker = await talk(world, '1.1000')
  const call = { id: 'call-1', name: 'weather', args: '{"city":"Bern"}' }
  world.provider.play(reply({ calls: [call], finish: 'tool_calls', usage }), answer)
  expectOneEnd(await talker.chat('Weather?'), 'done')
  expect(world.provider.bodies.map(({ max_tokens: most }) => most as number)).toEqual([500, 500])
  await world.stop()
})

test('a stopped reply is charged at the price of the model that was answering', async () => {
  const world = await startModels()
  const talker = await talk(world)
  world.provider.play(
    down,
    replyThen({ text: ['One two three four five six seven eight.'] }, () => {}),
  )
  const reader = await talker.open('Hi')
  await reader.until('assistant_delta')
  reader.leave()
  await talker.settled()
  const { amountUsd, breakdown } = await onlyCharge(talker)
  expect(breakdown).toMatchObject({ model: 'stub-2', isEstimated: true, rates: { inputPerMillionUsd: '300' } })
  const exact = breakdown.promptTokens * 300 + breakdown.completionTokens * 900
  expect(-unitsOf(amountUsd)).toBe(Math.floor(exact / 100))
  await world.stop()
})

test('a task falls back too, at its fixed price', async () => {
  const world = await startModels()
  world.provider.play(refuse(429, 'Slow down.'), answer)
  const { key } = await world.service.createPerson({ balanceUsd: '1.0000' })
  const task = await world.service.runTask(key, 'backed.draft', { subject: 'bees' })
  expect(task).toMatchObject({ status: 'completed', response: { text: 'Hello.' }, costUsd: '0.0100' })
  expect(calledModels(world)).toEqual(['stub-1', 'stub-2'])
  await world.stop()
})

test('clients see the models that may answer, with their prices', async () => {
  const world = await startModels()
  const talker = await talk(world)
  const { agents } = (await world.service.get('/api/agents', talker.key)).body
  const backed = agents.find(({ id }: { id: string }) => id === 'backed')
  expect(backed.chat.fallbacks).toMatchObject([{ model: 'stub-2', pricing: { inputPerMillionUsd: '300' } }])
  expect(agents.find(({ id }: { id: string }) => id === 'model').chat).not.toHaveProperty('fallbacks')
  await world.stop()
})
