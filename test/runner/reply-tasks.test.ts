import { expect, test } from 'vitest'
import { z } from 'zod'
import type { ChatPart, ChatRun, ErrandConfig } from '../../server/agents/config/define-config.ts'
import { unitsOf } from '../chat/chat-checks.ts'
import { queryRows } from '../support/test-engine.ts'
import { startService } from '../support/test-service.ts'
import { soon } from './task-checks.ts'

// Endpoints that run a chat's `reply`. A token costs 0.0001 USD, a tool call 0.0010 USD. The operator pays half for
// tokens.

const tokens = { inputPerMillionUsd: '100', outputPerMillionUsd: '100', toolCallUsd: '0.0010' }
const cost = { inputPerMillionUsd: '50', outputPerMillionUsd: '50' }
const pricing = { tokens, maxUsd: '5.0000' }
const prompt = ['A prompt of several words.']

type Reply = (run: ChatRun) => AsyncGenerator<ChatPart>

/** Yields the text and the tool call of a model call with this usage. */
async function* callModel(run: ChatRun, { completion = 10, text = '', tool = '' }): AsyncGenerator<ChatPart> {
  const call = await run.modelCall({ prompt, tools: tool ? [{ name: tool }] : [] })
  call.wrote(text)
  yield { type: 'text', delta: text }
  if (tool) await call.callsTool('{}')
  await call.end({ promptTokens: 90, completionTokens: completion })
  if (!tool) return
  yield { type: 'tool-call', id: `${tool}-${completion}`, name: tool, arguments: {} }
  yield { type: 'tool-result', id: `${tool}-${completion}`, output: {} }
}

const answer: Reply = async function* (run) {
  yield* callModel(run, { text: 'I look. ', tool: 'weather' })
  yield* callModel(run, { text: `You asked: ${run.message}` })
}

const params = z.object({ question: z.string() })
const endpointOf = (reply: Reply, more: object = {}) => ({
  description: 'Answers.',
  params,
  pricing,
  cost,
  prompt: ({ question }: any) => question,
  reply,
  ...more,
})

const startReply = (reply: Reply, more?: object) => startEndpoints({ ask: endpointOf(reply, more) })

async function startEndpoints(endpoints: Record<string, ReturnType<typeof endpointOf>>) {
  const config = { agents: [{ kind: 'code', id: 'adapted', name: 'Adapted', endpoints }] } as ErrandConfig
  const service = await startService({ config, limits: { executionsPerMinute: 0, abuseFailures: 0 } })
  const { key } = await service.createPerson()
  const run = async (body: object = {}) => {
    const asked = { endpointId: 'adapted.ask', params: { question: 'Why?' }, ...body }
    const { body: created, status } = await service.post('/api/tasks', asked, { key })
    expect(status, JSON.stringify(created)).toBe(200)
    const { body: task } = await service.get(`/api/tasks/${created.taskId}?wait=20`, key)
    const { balanceUsd } = (await service.get('/api/account', key)).body
    expect(unitsOf(balanceUsd)).toBe(100_000 - (task.status === 'failed' ? 0 : unitsOf(task.costUsd)))
    expect(await service.app.store.verifyLedger()).toMatchObject({ ok: true, differences: [] })
    const [row] = await queryRows(service.dataDir, 'SELECT provider_cost FROM tasks')
    return { task, providerCost: row!['provider_cost'] === null ? null : Number(row!['provider_cost']) }
  }
  return { service, key, run }
}

test('a task returns the text after the last tool call, costs its tokens and reports its steps', async () => {
  const { run, service } = await startReply(answer)
  const { providerCost, task } = await run()
  expect(task).toMatchObject({
    status: 'completed',
    response: { text: 'You asked: Why?' },
    // Two calls of 100 tokens, and a tool call.
    costUsd: '0.0210',
    maxCostUsd: '5.0000',
    givenBackUsd: '4.9790',
    tokens: { promptTokens: 180, completionTokens: 20, toolCalls: 1, isEstimated: false, exactUsd: '0.021000000' },
    progress: { message: 'Step 2', data: { step: 2, toolCalls: [] } },
  })
  expect(providerCost).toBe(10_000_000)
  await service.stop()
})

test('progress names the tools of a step', async () => {
  const { run, service } = await startReply(async function* (run) {
    yield* callModel(run, { text: 'I look. ', tool: 'weather' })
    throw new Error('The weather is unknown.')
  })
  const { providerCost, task } = await run()
  expect(task).toMatchObject({
    status: 'failed',
    error: { code: 'AGENT_ERROR', message: 'The weather is unknown.' },
    progress: { message: 'Step 1: weather', data: { step: 1, toolCalls: ['weather'] } },
  })
  expect(providerCost).toBe(5_000_000)
  await service.stop()
})

test('the maximum cost stops an agent before a model call that it does not cover', async () => {
  let calls = 0
  const { run, service } = await startReply(async function* (run) {
    for (;;) {
      yield* callModel(run, { completion: calls + 1, text: `Text ${calls + 1}. `, tool: 'weather' })
      calls++
    }
  })
  const { task } = await run({ maxCostUsd: '0.2000' })
  expect(calls).toBeGreaterThanOrEqual(2)
  const texts = Array.from({ length: calls }, (_, at) => `Text ${at + 1}. `)
  expect(task).toMatchObject({ status: 'completed', response: { reachedMaxCost: true } })
  expect(task.response.text).toContain(texts.join('\n\n'))
  expect(task.tokens.promptTokens).toBeGreaterThanOrEqual(calls * 90)
  expect(unitsOf(task.costUsd)).toBeLessThanOrEqual(2000)
  await service.stop()
})

test('the maximum cost limits the output of a model call', async () => {
  let limit = 0
  const { run, service } = await startReply(async function* (run) {
    const call = await run.modelCall({ prompt })
    limit = call.outputTokensMax
    yield { type: 'text', delta: 'Cut o' }
    await call.end({ promptTokens: 10, completionTokens: limit, finishReason: 'length' })
  })
  const { task } = await run({ maxCostUsd: '0.0500' })
  expect(limit).toBeLessThan(500)
  expect(task).toMatchObject({ status: 'completed', response: { text: 'Cut o', reachedMaxCost: true } })
  await service.stop()
})

test('parallel model calls share the maximum cost', async () => {
  const limits: number[] = []
  const { run, service } = await startReply(async function* (run) {
    const calls = await Promise.all([1, 2].map(() => run.modelCall({ prompt, outputTokensMax: 300 })))
    for (const { outputTokensMax } of calls) limits.push(outputTokensMax)
    for (const call of calls) await call.end({ promptTokens: 10, completionTokens: 10 })
    yield { type: 'text', delta: 'Both.' }
  })
  const { task } = await run({ maxCostUsd: '0.0500' })
  expect(limits[0]).toBe(300)
  expect(limits[1]).toBeLessThan(200)
  expect(task).toMatchObject({ response: { text: 'Both.' }, costUsd: '0.0040' })
  await service.stop()
})

test('an agent that reports no usage stops at the maximum cost, and its tokens are counted', async () => {
  const { run, service } = await startReply(async function* () {
    for (;;) yield { type: 'text', delta: 'one two three four ' }
  })
  const { task } = await run({ maxCostUsd: '0.0200' })
  expect(task).toMatchObject({ status: 'completed', costUsd: '0.0200', response: { reachedMaxCost: true } })
  expect(task.tokens.isEstimated).toBe(true)
  expect(task.response.text.length).toBeGreaterThan(200)
  await service.stop()
})

test('a maximum cost below the first call fails the task, which is refunded', async () => {
  const { run, service } = await startReply(answer)
  const { providerCost, task } = await run({ maxCostUsd: '0.0010' })
  expect(task).toMatchObject({ status: 'failed', refundedUsd: '0.0010', error: { code: 'AGENT_ERROR' } })
  expect(task.error.message).toMatch(/maximum cost/)
  expect(providerCost).toBe(0)
  await service.stop()
})

test('canceling a task aborts its agent and refunds it', async () => {
  let signal: AbortSignal | undefined
  const { key, service } = await startReply(async function* (run) {
    yield* callModel(run, { text: 'Working.' })
    signal = run.signal
    await new Promise(() => {})
  })
  const { taskId } = (await service.createTask(key, 'adapted.ask', { question: 'Why?' })).body
  await expect.poll(() => signal, soon).toBeDefined()
  const { body } = await service.post(`/api/tasks/${taskId}/cancel`, undefined, { key })
  expect(body).toMatchObject({ status: 'failed', error: { code: 'CANCELED' } })
  expect(signal!.aborted).toBe(true)
  expect((await service.get('/api/account', key)).body.balanceUsd).toBe('10.0000')
  await service.stop()
})

test('a prompt can be a conversation', async () => {
  const conversation = [
    { role: 'system', content: 'Be brief.' },
    { role: 'assistant', content: 'Ask me.' },
    { role: 'user', content: 'Why?' },
  ]
  const { run, service } = await startReply(
    async function* ({ history, message, sessionId, turnId }) {
      expect(sessionId).toBe(turnId)
      yield { type: 'text', delta: JSON.stringify([...history, { role: 'user', content: message }]) }
    },
    { prompt: () => conversation },
  )
  expect(JSON.parse((await run()).task.response.text)).toEqual(conversation)
  await service.stop()
})

const say = (delta: string): Reply =>
  async function* () {
    yield { type: 'text', delta }
  }
const output = z.object({ celsius: z.number() })

const failures: [title: string, reply: Reply, more: object, code: string, message: RegExp][] = [
  ['an empty prompt', answer, { prompt: () => '' }, 'AGENT_ERROR', /prompt function/],
  ['a prompt without a message', answer, { prompt: () => [] }, 'AGENT_ERROR', /prompt function/],
  [
    'a prompt that ends with the assistant',
    answer,
    { prompt: () => [{ role: 'assistant', content: 'Hm.' }] },
    'AGENT_ERROR',
    /prompt function/,
  ],
  ['a prompt of another type', answer, { prompt: () => 7 }, 'AGENT_ERROR', /prompt function/],
  ['a long prompt', answer, { contextTokens: 10, prompt: () => 'word '.repeat(20) }, 'AGENT_ERROR', /than 10 tokens/],
  ['no text', say(''), {}, 'AGENT_ERROR', /did not return any text/],
  ['text that is not JSON', say('21 °C'), { output }, 'AGENT_OUTPUT_INVALID', /not JSON/],
  ['JSON that does not match', say('{"celsius":"warm"}'), { output }, 'AGENT_OUTPUT_INVALID', /celsius/],
]

test('a bad prompt, no text and text that does not match the output schema fail the task', async () => {
  const endpoints = failures.map(([, reply, more], at) => [`case${at}`, endpointOf(reply, more)] as const)
  const { key, service } = await startEndpoints(Object.fromEntries(endpoints))
  for (const [at, [title, , , code, message]] of failures.entries()) {
    const task = await service.runTask(key, `adapted.case${at}`, { question: 'Why?' })
    const error = { code, message: expect.stringMatching(message) }
    expect(task, title).toMatchObject({ status: 'failed', error, refundedUsd: '5.0000' })
  }
  expect((await service.get('/api/account', key)).body.balanceUsd).toBe('10.0000')
  await service.stop()
})

test('a fixed price stays the same whatever the agent uses, and the response matches the output schema', async () => {
  const fixed = { pricing: undefined, priceUsd: '0.5000', output }
  const { run, service } = await startReply(async function* (run) {
    yield* callModel(run, { text: '{"celsius":', completion: 900_000 })
    yield { type: 'text', delta: '21}' }
  }, fixed)
  const { providerCost, task } = await run()
  expect(task).toMatchObject({ status: 'completed', response: { celsius: 21 }, costUsd: '0.5000' })
  expect(task).not.toHaveProperty('tokens')
  expect(providerCost).toBe(900_090 * 50_000)
  await service.stop()
})
