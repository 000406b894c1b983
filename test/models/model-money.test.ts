import { expect, test } from 'vitest'
import { countTokens } from '../../server/agents/run/count-tokens.ts'
import { readMetrics } from '../api/exposition.ts'
import { expectOneEnd, priceOf, soon, Talker, textOf, unitsOf } from '../chat/chat-checks.ts'
import { hang, reply, replyThen, type ModelRequest, type Script } from '../support/model-provider.ts'
import { maxOutputTokens, modelPricing } from './model-agents.ts'
import { onlyCharge, startModels, type ModelWorld } from './model-checks.ts'
import { ofTier } from '../run/tiers.ts'

const modes = ofTier([{ inThreads: true }], [{ inThreads: false }, { inThreads: true }])
const none = { cachedPromptTokens: 0, reasoningTokens: 0, toolCalls: 0, rates: { ...modelPricing } }

/** A model that counts one token per byte and writes the maximum. */
const dense: Script = (response, request) => {
  const text = '7'.repeat(request.body.max_tokens)
  const usage = { prompt_tokens: promptBytes(request), completion_tokens: text.length }
  return reply({ text: [text], finish: 'length', usage })(response, request)
}

function promptBytes({ body }: ModelRequest): number {
  const said = (body.messages as { content: string }[]).map(({ content }) => content).join('')
  return Buffer.byteLength(said) + Buffer.byteLength(JSON.stringify(body.tools ?? []))
}

/** Returns the provider's total price for all requests. */
function providersUnits({ provider }: ModelWorld): number {
  const sum = { ...none, promptTokens: 0, completionTokens: 0 }
  for (const request of provider.requests) {
    sum.promptTokens += promptBytes(request)
    sum.completionTokens += request.body.max_tokens
  }
  return priceOf(sum)
}

test.for(modes)(
  'ten concurrent chats with a balance for three pay exactly what the model wrote (threads: $inThreads)',
  async ({ inThreads }) => {
    const world = await startModels({ inThreads })
    world.provider.play(dense)
    const first = await Talker.create(world.service, { agentId: 'model', balanceUsd: '2.2000' })
    const talkers = [first, ...(await Promise.all(Array.from({ length: 9 }, () => first.another('model'))))]
    const readers = await Promise.all(talkers.map((talker) => talker.open('Digits.')))
    for (const reader of readers) await reader.end()
    const charges = (await Promise.all(talkers.map((talker) => talker.charges()))).flat()
    const charged = charges.reduce((sum, { amountUsd }) => sum - unitsOf(amountUsd), 0)
    expect(charges.length).toBeGreaterThanOrEqual(3)
    expect(charges.filter(({ breakdown }) => breakdown.writtenOffUsd !== undefined)).toEqual([])
    expect(charged).toBe(providersUnits(world))
    const { balanceUsd, heldUsd } = await first.account()
    expect([unitsOf(balanceUsd), heldUsd]).toEqual([22_000 - charged, '0.0000'])
    await world.stop()
  },
)

test('a low balance limits the output of the model, which ends with INSUFFICIENT_BALANCE', async () => {
  const world = await startModels()
  world.provider.play(dense)
  const talker = await Talker.create(world.service, { agentId: 'model', balanceUsd: '0.5000' })
  const events = await talker.chat('Digits.')
  const [{ max_tokens: allowed }] = world.provider.bodies
  expect(allowed).toBeGreaterThan(10)
  expect(allowed).toBeLessThan(maxOutputTokens)
  const end = expectOneEnd(events, 'error')
  expect(end.error.code).toBe('INSUFFICIENT_BALANCE')
  expect(textOf(events)).toHaveLength(allowed)
  expect(unitsOf(end.costUsd)).toBe(providersUnits(world))
  const { breakdown } = await onlyCharge(talker)
  expect(breakdown).not.toHaveProperty('writtenOffUsd')
  expect((await talker.messages())[1]).toMatchObject({ content: '7'.repeat(allowed), truncated: true })
  await world.stop()
})

test('a prompt that the balance does not cover is rejected without a provider call', async () => {
  const world = await startModels()
  const talker = await Talker.create(world.service, { agentId: 'model', balanceUsd: '0.5000' })
  // 4,000 single-byte tokens cost 0.6.
  const refused = await talker.open('7'.repeat(4000))
  expect(refused.status).toBe(403)
  expect((await refused.end()).error.code).toBe('INSUFFICIENT_BALANCE')
  expect(world.provider.requests).toEqual([])
  await world.stop()
})

test.for(modes)(
  'a client that leaves pays for sent and written text, including hidden reasoning (threads: $inThreads)',
  async ({ inThreads }) => {
    const world = await startModels({ inThreads })
    const talker = await Talker.create(world.service, { agentId: 'model' })
    world.provider.play(replyThen({ reasoning: ['I think. '.repeat(100)], text: ['So: '] }, hang))
    const reader = await talker.open('Think hard.')
    await reader.until('assistant_delta')
    reader.leave()
    await talker.settled()
    const { breakdown } = await onlyCharge(talker)
    expect(breakdown).toMatchObject({ completionTokens: 304, reasoningTokens: 301, isEstimated: true })
    // Instructions, message and four tools.
    const { messages, tools } = world.provider.bodies[0]
    const sent = [...messages.map(({ content }: any) => content), ...tools.map((tool: any) => JSON.stringify(tool))]
    const counted = await countTokens(sent)
    expect(Math.abs(breakdown.promptTokens - counted)).toBeLessThan(counted / 4)
    await world.stop()
  },
)

test('a model that finishes after its client has left is charged as reported', async () => {
  const world = await startModels()
  const talker = await Talker.create(world.service, { agentId: 'model' })
  const left = Promise.withResolvers<void>()
  const usage = {
    prompt_tokens: 90,
    completion_tokens: 40,
    completion_tokens_details: { reasoning_tokens: 30 },
  }
  world.provider.play(
    replyThen({ text: ['A beginning '] }, async (response) => {
      await left.promise
      const finish = { id: 'c', created: 1, model: 'stub-1', object: 'chat.completion.chunk' }
      const choices = [{ index: 0, delta: { content: 'unseen' }, finish_reason: 'stop' }]
      response.write(`data: ${JSON.stringify({ ...finish, choices })}\n\n`)
      response.end(`data: ${JSON.stringify({ ...finish, choices: [], usage })}\n\ndata: [DONE]\n\n`)
    }),
  )
  const reader = await talker.open('Hello?')
  await reader.until('assistant_delta')
  reader.leave()
  // Waits until the service has noticed that the client left.
  const ended = 'errand_http_requests_total{operation="chat",status="200"}'
  await expect.poll(async () => (await readMetrics(world.service)).get(ended), soon).toBe(1)
  left.resolve()
  await talker.settled()
  const { breakdown } = await onlyCharge(talker)
  expect(breakdown).toMatchObject({ promptTokens: 90, completionTokens: 40, reasoningTokens: 30 })
  expect((await talker.messages())[1]).toMatchObject({ content: 'A beginning ', truncated: true })
  await world.stop()
})

test('reserves the cost of the full prompt before each step, including tool outputs', async () => {
  const world = await startModels()
  const talker = await Talker.create(world.service, { agentId: 'model', balanceUsd: '2.0000' })
  const city = 'Bern'.repeat(5000)
  world.provider.play(
    reply({
      calls: [{ id: 'a', name: 'weather', args: JSON.stringify({ city }) }],
      usage: { prompt_tokens: 300, completion_tokens: 400 },
    }),
    reply({ text: ['Fine.'] }),
  )
  // The answer repeats the 20,000 bytes, which may be 20,000 tokens: more than 3 USD.
  const events = await talker.chat('How is the weather?')
  expect(expectOneEnd(events, 'error').error.code).toBe('INSUFFICIENT_BALANCE')
  expect(world.provider.requests).toHaveLength(1)
  const { breakdown } = await onlyCharge(talker)
  expect(breakdown).toMatchObject({ promptTokens: 300, completionTokens: 400, toolCalls: 1 })
  await world.stop()
})
