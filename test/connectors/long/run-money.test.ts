import { existsSync, readFileSync } from 'node:fs'
import { afterEach, expect, test } from 'vitest'
import { expectOneEnd, filesIn, priceOf, textOf, unitsOf } from '../../chat/chat-checks.ts'
import { hang, refuse, reply, replyThen } from '../../support/model-provider.ts'
import { stopAll } from '../guarded-server.ts'
import {
  completeTask,
  connect,
  createTask,
  endOf,
  expectPaidFor,
  expectSound,
  startWorld,
  talkWith,
} from '../run-checks.ts'
import { result, say, startMcpServer, type Handle } from '../run-http-server.ts'

// Tokens that a user's own server adds to a model's prompt are charged and bounded.

afterEach(stopAll)

const call = { id: 'a', name: 'use', args: '{}' }
const usage = { prompt_tokens: 1000, completion_tokens: 400 }

const describing =
  (bytes: number): Handle =>
  (response, message) => {
    const tools = Array.from({ length: Math.ceil(bytes / 4000) }, (_, n) => ({
      name: `tool-${n}`,
      description: '7'.repeat(4000),
      inputSchema: { type: 'object' },
    }))
    result(response, message, { tools })
  }

test.for([{ inThreads: false }, { inThreads: true }])(
  "charges the reported usage each time the caller's server drops the call (threads: $inThreads)",
  async ({ inThreads }) => {
    const bad = await startMcpServer({ 'tools/call': (response) => void response.destroy() })
    const world = await startWorld({ inThreads, privateHosts: [bad.host] })
    const person = await world.service.createPerson()
    const connectorIds = [await connect(world, person, { name: 'Own', url: bad.origin })]
    for (let n = 0; n < 2; n++) {
      world.provider.play(reply({ text: ['The whole answer. '], calls: [call], usage }))
      const talker = await talkWith(world, { agentId: 'model', connectorIds, person })
      const events = await talker.chat('Answer, then use it.')
      expect(textOf(events)).toBe('The whole answer. ')
      const end = expectOneEnd(events, 'error')
      expect(end.error.code).toBe('AGENT_ERROR')
      await expectPaidFor(talker, end)
      const [{ breakdown, description }] = await talker.charges()
      expect(description).toBe('Chat with model, cut off')
      expect(breakdown).toMatchObject({ promptTokens: 1000, completionTokens: 400, isEstimated: false })
      expect((await talker.messages())[1]).toMatchObject({ content: 'The whole answer. ', truncated: true })
    }
    await expectSound(world)
    await world.stop()
  },
)

test("an oversized result from the caller's own server ends the reply, which the caller pays for", async () => {
  const large = await startMcpServer({
    'tools/call': (response, message) => say(response, message, 'x'.repeat(90_000)),
  })
  const world = await startWorld({ privateHosts: [large.host], limits: { maxReplyBytes: 80_000 } })
  const person = await world.service.createPerson({ balanceUsd: '100.0000' })
  const connectorIds = [await connect(world, person, { name: 'Large', url: large.origin })]
  for (const agentId of ['model', 'code']) {
    world.provider.play(reply({ text: ['The whole answer. '], calls: [call], usage }))
    const talker = await talkWith(world, { agentId, connectorIds, person })
    await expectPaidFor(talker, expectOneEnd(await talker.chat('[{"name":"use"}]'), 'error'))
  }
  await world.stop()
})

test('reserves money for tool descriptions before sending them to the provider', async () => {
  const server = await startMcpServer({ 'tools/list': describing(250_000) })
  const world = await startWorld({ privateHosts: [server.host] })
  const person = await world.service.createPerson({ balanceUsd: '10.0000' })
  const connectorIds = [await connect(world, person, { name: 'Wordy', url: server.origin })]
  const talker = await talkWith(world, { agentId: 'model', connectorIds, person })
  world.provider.play(reply({ text: ['Hello.'] }))
  // 250,000 tokens at one byte each cost 37.5.
  const end = expectOneEnd(await talker.chat('Hello'), 'error')
  expect([end.error.code, end.costUsd]).toEqual(['INSUFFICIENT_BALANCE', '0.0000'])
  expect(world.provider.requests).toEqual([])
  const { userId } = person
  await world.service.app.store.credit({ userId, amount: 900_000, description: 'More', idempotencyKey: null })
  const reader = await talker.open('Hello')
  expectOneEnd(await reader.all(), 'done')
  world.provider.play(replyThen({ text: ['Hello.'] }, hang))
  const leaving = await talker.open('Hello')
  await leaving.until('assistant_delta')
  leaving.leave()
  await talker.settled()
  // Charges for the counted tokens of the prompt, because it was sent.
  const [charge] = await talker.charges()
  expect(charge.breakdown).toMatchObject({ isEstimated: true })
  expect(charge.breakdown.promptTokens).toBeGreaterThan(250_000 / 10)
  expect(charge.breakdown.promptTokens).toBeLessThan(250_000)
  await expectSound(world)
  await world.stop()
})

test('oversized tool descriptions fail the run with a clear error before any provider call', async () => {
  const server = await startMcpServer({ 'tools/list': describing(600_000) })
  const world = await startWorld({ privateHosts: [server.host] })
  const person = await world.service.createPerson()
  const connectorIds = [await connect(world, person, { name: 'Wordy', url: server.origin })]
  const talker = await talkWith(world, { agentId: 'model', connectorIds, person })
  const message =
    "The connectors' tool descriptions are larger than 500000 bytes, the maximum for this agent. Allow fewer tools."
  const end = expectOneEnd(await talker.chat('Hello'), 'error')
  expect(end).toMatchObject({ error: { code: 'AGENT_ERROR', message }, costUsd: '0.0000' })
  const taskId = await createTask(world, person, { endpointId: 'model.call', params: { calls: [] }, connectorIds })
  const error = { code: 'AGENT_ERROR', message: message.replace('500000', '100000') }
  expect(await endOf(world, person, taskId)).toMatchObject({ status: 'failed', error })
  expect(world.provider.requests).toEqual([])
  await expectSound(world)
  await world.stop()
})

test('reports oversized tool results to the model, in tasks and chats', async () => {
  const server = await startMcpServer({
    'tools/call': (response, message) => say(response, message, '7'.repeat(1_900_000)),
  })
  const world = await startWorld({ privateHosts: [server.host] })
  const person = await world.service.createPerson({ balanceUsd: '100.0000' })
  const connectorIds = [await connect(world, person, { name: 'Wordy', url: server.origin })]
  const params = { calls: [{ name: 'use' }] }
  const response = await completeTask(world, person, { endpointId: 'model.call', params, connectorIds })
  expect(response.text).toMatch(/The tool's result is too large: this run has \d{5} bytes left for tool results/)
  const talker = await talkWith(world, { agentId: 'model', connectorIds, person })
  expect(textOf(await talker.chat(JSON.stringify(params.calls)))).toMatch(/too large.*\d{6} bytes left/)
  for (const { messages } of world.provider.bodies) expect(JSON.stringify(messages).length).toBeLessThan(5000)
  await expectSound(world)
  await world.stop()
})

test("limits the connector data sent to a task's model across all model calls", async () => {
  const server = await startMcpServer({ 'tools/list': describing(45_000) })
  const world = await startWorld({ privateHosts: [server.host] })
  const person = await world.service.createPerson()
  const connectorIds = [await connect(world, person, { name: 'Wordy', url: server.origin })]
  const task = { endpointId: 'model.call', params: { calls: [] }, connectorIds }
  const choices = () => world.provider.bodies.map(({ tool_choice: choice }) => choice)
  world.provider.play(reply({ calls: [call] }), reply({ text: ['Done.'] }))
  expect(await completeTask(world, person, task)).toEqual({ text: 'Done.' })
  expect(choices()).toEqual(['auto', 'none'])
  // A model that calls a tool nevertheless is not called again.
  world.provider.play(reply({ calls: [call] }), reply({ calls: [call] }), reply({ text: ['Done.'] }))
  const taskId = await createTask(world, person, task)
  expect(await endOf(world, person, taskId)).toMatchObject({ status: 'failed', error: { code: 'AGENT_ERROR' } })
  expect(choices()).toEqual(['auto', 'none'])
  await expectSound(world)
  await world.stop()
})

test.for([{ inThreads: false }, { inThreads: true }])(
  "reserves the cost of calls to the caller's servers in advance, even concurrently (threads: $inThreads)",
  async ({ inThreads }) => {
    let used = 0
    const use: Handle = (response, message) => {
      used++
      say(response, message, 'used')
    }
    const server = await startMcpServer({ 'tools/call': use })
    const world = await startWorld({ inThreads, privateHosts: [server.host] })
    // The step costs 0.3000, which leaves 79 calls at most.
    const person = await world.service.createPerson({ balanceUsd: '0.4000' })
    const connectorIds = [await connect(world, person, { name: 'Paid', url: server.origin })]
    const calls = Array.from({ length: 100 }, (_, n) => ({ ...call, id: `call-${n}` }))
    world.provider.play(
      reply({ text: ['Look. '], calls, usage: { prompt_tokens: 800, completion_tokens: 300 } }),
      reply({ text: ['Seen.'] }),
    )
    const talker = await talkWith(world, { agentId: 'model', connectorIds, person })
    const end = expectOneEnd(await talker.chat('Use it a hundred times.'), 'error')
    expect(end.error.code).toBe('INSUFFICIENT_BALANCE')
    expect(used).toBeLessThanOrEqual(79)
    const [{ breakdown }] = await talker.charges()
    expect(breakdown).toMatchObject({ promptTokens: 800, completionTokens: 300 })
    await expectSound(world)
    await world.stop()
  },
)

test.for([{ inThreads: false }, { inThreads: true }])(
  "pays for the agent's own tool calls in advance, charging only those made (threads: $inThreads)",
  async ({ inThreads }) => {
    const world = await startWorld({ inThreads })
    const person = await world.service.createPerson({ balanceUsd: '0.6500' })
    const talker = await talkWith(world, { agentId: 'noting', connectorIds: [], person })
    const file = filesIn(world.service)('called')
    const args = JSON.stringify({ file })
    const calls = Array.from({ length: 100 }, (_, n) => ({ id: `call-${n}`, name: 'note', args }))
    // The step costs 0.6000, which leaves 39 calls at most.
    world.provider.play(
      reply({ text: ['Look. '], calls, usage: { prompt_tokens: 0, completion_tokens: 1000 } }),
      reply({ text: ['Seen.'] }),
    )
    const end = expectOneEnd(await talker.chat('Note it a hundred times.'), 'error')
    expect(end.error.code).toBe('INSUFFICIENT_BALANCE')
    const made = existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n').length : 0
    const [{ amountUsd, breakdown }] = await talker.charges()
    expect(breakdown.toolCalls).toBe(made)
    // The agent reports usage last, so an unaffordable call may end the reply before the report.
    expect(breakdown.completionTokens).toBeLessThanOrEqual(1000)
    if (breakdown.completionTokens === 1000) expect(made).toBeLessThanOrEqual(39)
    expect(breakdown).not.toHaveProperty('writtenOffUsd')
    expect(-unitsOf(amountUsd)).toBe(priceOf(breakdown))
    // With a sufficient balance, the agent makes all of the calls.
    const { userId } = person
    await world.service.app.store.credit({ userId, amount: 900_000, description: 'More', idempotencyKey: null })
    world.provider.play(reply({ calls: calls.slice(0, 3) }), reply({ text: ['Seen.'] }))
    expectOneEnd(await talker.chat('Note it.'), 'done')
    expect(readFileSync(file, 'utf8').trimEnd().split('\n')).toHaveLength(made + 3)
    expect((await talker.charges())[0].breakdown).toMatchObject({ toolCalls: 3 })
    await expectSound(world)
    await world.stop()
  },
)

test.for([{ inThreads: false }, { inThreads: true }])(
  'a call the balance does not cover is neither made nor charged (threads: $inThreads)',
  async ({ inThreads }) => {
    let used = 0
    const server = await startMcpServer({
      'tools/call': (response, message) => {
        used++
        say(response, message, 'used')
      },
    })
    const world = await startWorld({ inThreads, privateHosts: [server.host] })
    // The step costs 0.3000, and the rest does not cover a hundred calls.
    const person = await world.service.createPerson({ balanceUsd: '0.4000' })
    const connectorIds = [await connect(world, person, { name: 'Paid', url: server.origin })]
    const calls = Array.from({ length: 100 }, (_, n) => ({ ...call, id: `call-${n}` }))
    world.provider.play(reply({ calls, usage: { prompt_tokens: 800, completion_tokens: 300 } }))
    const talker = await talkWith(world, { agentId: 'model', connectorIds, person })
    const end = expectOneEnd(await talker.chat('Use it a hundred times.'), 'error')
    expect(end.error.code).toBe('INSUFFICIENT_BALANCE')
    const [{ breakdown }] = await talker.charges()
    expect(breakdown.toolCalls).toBe(used)
    expect(breakdown).not.toHaveProperty('writtenOffUsd')
    expect(unitsOf(end.costUsd)).toBe(priceOf(breakdown))
    await expectSound(world)
    await world.stop()
  },
)

test('a call to an unresponsive provider is charged for the prompt but no output', async () => {
  const server = await startMcpServer()
  const world = await startWorld({ privateHosts: [server.host], limits: { turnTimeoutSeconds: 3 } })
  const person = await world.service.createPerson()
  const connectorIds = [await connect(world, person, { name: 'Idle', url: server.origin })]
  world.provider.play(hang)
  const unused = await talkWith(world, { agentId: 'model', connectorIds, person })
  expect(expectOneEnd(await unused.chat('Hello?'), 'error').error.code).toBe('AGENT_TIMEOUT')
  expect((await unused.charges())[0].breakdown).toMatchObject({ completionTokens: 0, isEstimated: true })
  world.provider.play(reply({ calls: [call], usage }), hang)
  const called = await talkWith(world, { agentId: 'model', connectorIds, person })
  expect(expectOneEnd(await called.chat('Use it.'), 'error').error.code).toBe('AGENT_TIMEOUT')
  expect((await called.charges())[0].breakdown.completionTokens).toBe(usage.completion_tokens)
  await expectSound(world)
  await world.stop()
})

test('a caller whose connector is slow pays for the prompt of the timed-out model call', async () => {
  const slow: Handle = (response, message) => void setTimeout(() => result(response, message, { tools: [] }), 1500)
  const server = await startMcpServer({ 'tools/list': slow })
  const world = await startWorld({ privateHosts: [server.host], limits: { turnTimeoutSeconds: 3 } })
  const person = await world.service.createPerson()
  const connectorIds = [await connect(world, person, { name: 'Slow', url: server.origin })]
  world.provider.play(hang)
  const talker = await talkWith(world, { agentId: 'model', connectorIds, person })
  expect(expectOneEnd(await talker.chat('Hello?'), 'error').error.code).toBe('AGENT_TIMEOUT')
  const [{ breakdown }] = await talker.charges()
  expect(breakdown.completionTokens).toBe(0)
  expect(breakdown.promptTokens).toBeGreaterThan(0)
  await expectSound(world)
  await world.stop()
})

test.for([403, 451])(
  "earlier steps stay charged if the provider returns %i after the caller's server responded",
  async (status) => {
    const server = await startMcpServer({ 'tools/call': (response, message) => say(response, message, 'flagged') })
    const world = await startWorld({ privateHosts: [server.host] })
    const person = await world.service.createPerson()
    const connectorIds = [await connect(world, person, { name: 'Own', url: server.origin })]
    world.provider.play(
      reply({ text: ['The whole answer. '], calls: [call], usage }),
      refuse(status, 'Your input was flagged.'),
    )
    const talker = await talkWith(world, { agentId: 'model', connectorIds, person })
    const end = expectOneEnd(await talker.chat('Answer, then use it.'), 'error')
    expect(end.error.code).toBe('AGENT_ERROR')
    const [{ breakdown }] = await talker.charges()
    expect(breakdown).toMatchObject({ promptTokens: 1000, completionTokens: 400, toolCalls: 1 })
    expect(unitsOf(end.costUsd)).toBe(priceOf(breakdown))
    await expectSound(world)
    await world.stop()
  },
)
