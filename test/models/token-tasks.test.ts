import { expect, test } from 'vitest'
import { formatUsd } from '../../server/kernel/money.ts'
import { unitsOf } from '../chat/chat-checks.ts'
import { refuse, reply } from '../support/model-provider.ts'
import { queryRows } from '../support/test-engine.ts'
import { startModels, type ModelWorld } from './model-checks.ts'
import { ofTier } from '../run/tiers.ts'

const usage = { prompt_tokens: 1000, completion_tokens: 100 }
const answer = reply({ text: ['Bees hum.'], usage })
const call = { id: 'call-1', name: 'weather', args: '{"city":"Bern"}' }
const toolCall = reply({ calls: [call], finish: 'tool_calls', usage })
const modes = ofTier([{ inThreads: true }], [{ inThreads: false }, { inThreads: true }])

async function draft(
  world: ModelWorld,
  { endpoint = 'draft', ...more }: { endpoint?: string; maxCostUsd?: string } = {},
) {
  const { service } = world
  const { key, userId } = await service.createPerson({ balanceUsd: '10.0000' })
  const body = { endpointId: `tokens.${endpoint}`, params: { subject: 'bees' }, ...more }
  const { body: created, status } = await service.post('/api/tasks', body, { key })
  expect(status, JSON.stringify(created)).toBe(200)
  const { body: task } = await service.get(`/api/tasks/${created.taskId}?wait=20`, key)
  const { balanceUsd } = (await service.get('/api/account', key)).body
  expect(unitsOf(balanceUsd)).toBe(100_000 - (task.status === 'failed' ? 0 : unitsOf(task.costUsd)))
  expect(await service.app.store.verifyLedger()).toMatchObject({ ok: true, differences: [] })
  return { key, task, userId }
}

const providerCosts = async ({ service }: ModelWorld) =>
  (await queryRows(service.dataDir, 'SELECT provider_cost FROM tasks')).map((row) => Number(row['provider_cost']))

test.for(modes)('a task costs its tokens and returns the rest (threads: $inThreads)', async ({ inThreads }) => {
  const world = await startModels({ inThreads })
  world.provider.play(toolCall, answer)
  const { key, task, userId } = await draft(world)
  expect(task).toMatchObject({
    status: 'completed',
    response: { text: 'Bees hum.' },
    // Two calls of 1,000 × 100 + 100 × 200 per million.
    costUsd: '0.2400',
    maxCostUsd: '5.0000',
    givenBackUsd: '4.7600',
    refundedUsd: '4.7600',
    rates: { inputPerMillionUsd: '100', outputPerMillionUsd: '200', inputPer1kUsd: '0.1' },
    tokens: { promptTokens: 2000, completionTokens: 200, toolCalls: 1, isEstimated: false, exactUsd: '0.240000000' },
  })
  expect(task).not.toHaveProperty('usage')
  // 2,000 × 50 + 200 × 100 per million, in billionths.
  expect(await providerCosts(world)).toEqual([120_000_000])
  const { transactions } = (await world.service.get('/api/transactions', key)).body
  expect(transactions.filter((one: any) => one.taskId).map((one: any) => [one.type, one.amountUsd])).toEqual([
    ['adjustment', '4.7600'],
    ['task_charge', '-5.0000'],
  ])
  expect(transactions.every((one: any) => one.userId === userId)).toBe(true)
  await world.stop()
})

test('a sum between two amounts rounds up', async () => {
  const world = await startModels()
  world.provider.play(refuse(503, 'Down.'), reply({ text: ['Hi.'], usage: { prompt_tokens: 7, completion_tokens: 1 } }))
  const { task } = await draft(world)
  // The second model: 7 × 300 + 1 × 900 per million.
  expect(task).toMatchObject({ costUsd: '0.0030', tokens: { model: 'stub-2', exactUsd: '0.003000000' } })
  expect(task.rates).toMatchObject({ inputPerMillionUsd: '300' })
  world.provider.play(reply({ text: ['Hi.'], usage: { prompt_tokens: 1, completion_tokens: 1 } }))
  const { task: other } = await draft(world)
  expect(other).toMatchObject({ costUsd: '0.0003', tokens: { model: 'stub-1', exactUsd: '0.000300000' } })
  await world.stop()
})

test('the model must answer without tools once the rest pays for no further call', async () => {
  const world = await startModels()
  const large = { prompt_tokens: 16_500, completion_tokens: 100 }
  world.provider.play(reply({ calls: [call], finish: 'tool_calls', usage: large }), answer)
  const { task } = await draft(world, { maxCostUsd: '2.0000' })
  expect(world.provider.bodies.map(({ tool_choice: choice }) => choice as string)).toEqual(['auto', 'none'])
  expect(task).toMatchObject({ status: 'completed', response: { text: 'Bees hum.' }, costUsd: '1.7900' })
  await world.stop()
})

test('what is left limits the output of a call, and the response says so', async () => {
  const world = await startModels()
  world.provider.play(reply({ text: ['Bees'], finish: 'length', usage }))
  const { task } = await draft(world, { maxCostUsd: '0.6000' })
  expect(world.provider.bodies[0].max_tokens).toBeLessThan(500)
  expect(task).toMatchObject({
    status: 'completed',
    response: { text: 'Bees', reachedMaxCost: true },
    costUsd: '0.1200',
  })
  await world.stop()
})

test('a run stops before a model call that it cannot pay, with the text so far', async () => {
  const world = await startModels()
  const large = { prompt_tokens: 5000, completion_tokens: 100 }
  world.provider.play(reply({ text: ['Let me look.'], calls: [call], finish: 'tool_calls', usage: large }))
  const { task } = await draft(world, { maxCostUsd: '0.6000' })
  expect(world.provider.requests).toHaveLength(1)
  expect(task).toMatchObject({
    status: 'completed',
    response: { text: 'Let me look.', reachedMaxCost: true },
    costUsd: '0.5200',
    givenBackUsd: '0.0800',
  })
  await world.stop()
})

test('a task whose maximum does not cover its prompt fails without a model call', async () => {
  const world = await startModels()
  const { task } = await draft(world, { maxCostUsd: '0.0100' })
  expect(world.provider.requests).toEqual([])
  expect(task).toMatchObject({ status: 'failed', error: { code: 'AGENT_ERROR' }, refundedUsd: '0.0100' })
  expect(task.error.message).toMatch(/maximum cost/)
  expect(await providerCosts(world)).toEqual([0])
  await world.stop()
})

test('a structured answer that the maximum cut off fails, and its cost to the operator is kept', async () => {
  const world = await startModels()
  world.provider.play(reply({ text: ['{"title":'], finish: 'length', usage }))
  const { task } = await draft(world, { endpoint: 'book', maxCostUsd: '0.6000' })
  expect(task).toMatchObject({ status: 'failed', costUsd: '0.6000', refundedUsd: '0.6000' })
  expect(await providerCosts(world)).toEqual([60_000_000])
  await world.stop()
})

test('a provider that ignores the limit costs its user at most the charge', async () => {
  const world = await startModels()
  const usage = { prompt_tokens: 1000, completion_tokens: 50_000 }
  world.provider.play(reply({ text: ['Bees.'], usage }))
  const { task } = await draft(world, { maxCostUsd: '1.0000' })
  expect(task).toMatchObject({ costUsd: '1.0000', givenBackUsd: '0.0000', tokens: { exactUsd: '10.100000000' } })
  await world.stop()
})

test('tokens that the provider does not report are counted', async () => {
  const world = await startModels()
  world.provider.play(reply({ text: ['Bees hum in the garden.'], usage: null }))
  const { task } = await draft(world)
  expect(task.tokens).toMatchObject({ isEstimated: true, completionTokens: 7 })
  expect(task.tokens.promptTokens).toBeGreaterThan(10)
  const exact = task.tokens.promptTokens * 100 + task.tokens.completionTokens * 200
  expect(task.costUsd).toBe(formatUsd(Math.ceil(exact / 100)))
  await world.stop()
})

test('a task with a fixed price keeps its price, and its cost to the operator is known', async () => {
  const world = await startModels()
  world.provider.play(answer)
  const { task } = await draft(world, { endpoint: 'fixed' })
  expect(task).toMatchObject({ status: 'completed', costUsd: '0.0100' })
  for (const field of ['tokens', 'rates', 'maxCostUsd']) expect(task).not.toHaveProperty(field)
  expect(await providerCosts(world)).toEqual([60_000_000])
  await world.stop()
})

test('clients see the rates, and a quote keeps them', async () => {
  const world = await startModels()
  world.provider.play(answer)
  const { key } = await world.service.createPerson({ balanceUsd: '10.0000' })
  const { agents } = (await world.service.get('/api/agents', key)).body
  const { endpoints } = agents.find(({ id }: any) => id === 'tokens')
  expect(endpoints[0]).toMatchObject({
    priceUsd: '5.0000',
    tokenPricing: { rates: { inputPerMillionUsd: '100' }, maxUsd: '5.0000', fallbacks: [{ model: 'stub-2' }] },
  })
  const task = { endpointId: 'tokens.draft', params: { subject: 'bees' }, maxCostUsd: '2.0000' }
  const { body: quote } = await world.service.post('/api/quotes', { task }, { key })
  expect(quote).toMatchObject({ priceUsd: '2.0000', worstCaseUsd: '2.0000' })
  const { body: created } = await world.service.post('/api/tasks', { ...task, quoteId: quote.quoteId }, { key })
  const { body: done } = await world.service.get(`/api/tasks/${created.taskId}?wait=20`, key)
  expect(done).toMatchObject({ maxCostUsd: '2.0000', costUsd: '0.1200' })
  await world.stop()
})

test('a reply of which nothing but reasoning fits under the maximum is not free', async () => {
  const world = await startModels()
  world.provider.play(reply({ text: [''], finish: 'length', usage }))
  const { task } = await draft(world, { maxCostUsd: '0.6000' })
  expect(task).toMatchObject({ status: 'completed', response: { text: '', reachedMaxCost: true }, costUsd: '0.1200' })
  await world.stop()
})

test.each([12.5, -3])('a task whose provider reports %s tokens fails and is refunded', async (tokens) => {
  const world = await startModels()
  world.provider.play(reply({ text: ['Hi.'], usage: { prompt_tokens: 10, completion_tokens: tokens } }))
  for (const endpoint of ['draft', 'fixed']) {
    const { task } = await draft(world, { endpoint })
    expect(task).toMatchObject({ status: 'failed', error: { code: 'AGENT_ERROR' } })
  }
  await world.stop()
})
