import { expect, test } from 'vitest'
import { hang, reply } from '../support/model-provider.ts'
import type { ModelAgentConfig, TaskProgress } from '../../server/agents/config/define-config.ts'
import { modelRun } from '../../server/agents/model/model-agent.ts'
import { taskRun } from './agent-service.ts'
import { soon } from './task-checks.ts'
import { instructions, maxOutputTokens, modelAgents } from '../models/model-agents.ts'
import { expectFailedTask, startModels } from '../models/model-checks.ts'
import { ofTier } from '../run/tiers.ts'

test("the prompt in the params is the model's message, and the model's text is the response", async () => {
  const { provider, service, stop } = await startModels()
  const { key } = await service.createPerson()
  provider.play(reply({ reasoning: ['Hm.'], text: ['Tea is ', 'a drink.'] }))
  const task = await service.runTask(key, 'model.draft', { subject: 'tea' })
  expect(task).toMatchObject({ status: 'completed', response: { text: 'Tea is a drink.' }, costUsd: '0.0100' })
  const [body] = provider.bodies
  expect(body).toMatchObject({ model: 'stub-1', max_tokens: maxOutputTokens })
  expect(body.stream).toBeFalsy()
  expect(body.messages).toEqual([
    { role: 'system', content: instructions },
    { role: 'user', content: 'Write about tea.' },
  ])
  await stop()
})

test("a task uses tools, and its response is the model's last text", async () => {
  const { provider, service, stop } = await startModels()
  const { key } = await service.createPerson()
  provider.play(
    reply({ calls: [{ id: 'a', name: 'weather', args: '{"city":"Bern"}' }] }),
    reply({ text: ['21 degrees.'] }),
  )
  expect((await service.runTask(key, 'model.draft', { subject: 'Bern' })).response).toEqual({ text: '21 degrees.' })
  expect(JSON.parse(provider.bodies[1].messages.at(-1).content)).toEqual({ city: 'Bern', celsius: 21 })
  await stop()
})

test("reports a task's steps and tool calls as progress", async () => {
  const { provider, service, stop } = await startModels()
  provider.play(
    reply({
      calls: [
        { id: 'a', name: 'weather', args: '{"city":"Bern"}' },
        { id: 'b', name: 'plain', args: '{}' },
      ],
    }),
    reply({ text: ['21 degrees.'] }),
  )
  const told: TaskProgress[] = []
  const { agents } = modelAgents(provider.url)
  const agent = agents.find(({ id }) => id === 'model') as ModelAgentConfig
  const run = taskRun({ params: { subject: 'Bern' }, progress: (progress) => told.push(progress) })
  await modelRun(agent, 'draft')(run)
  expect(told).toEqual([
    { message: 'Step 1 of at most 3', data: { step: 1, stepsMax: 3, toolCalls: [] } },
    { message: 'Step 1 of at most 3: weather', data: { step: 1, stepsMax: 3, toolCalls: ['weather'] } },
    { message: 'Step 1 of at most 3: weather, plain', data: { step: 1, stepsMax: 3, toolCalls: ['weather', 'plain'] } },
    { message: 'Step 2 of at most 3', data: { step: 2, stepsMax: 3, toolCalls: [] } },
  ])
  const { key } = await service.createPerson()
  provider.play(reply({ text: ['Tea.'] }))
  const task = await service.runTask(key, 'model.draft', { subject: 'tea' })
  expect(task.progress).toMatchObject({ message: 'Step 1 of at most 3', data: { step: 1 } })
  await stop()
})

test.for([
  { endpointId: 'model.book', answer: { title: 'Tea', pages: 10 } },
  { endpointId: 'model.list', answer: { names: ['Ada', 'Max'] } },
])(
  '$endpointId returns output that matches its schema, described to the model in the prompt',
  async ({ answer, endpointId }) => {
    const { provider, service, stop } = await startModels()
    const { key } = await service.createPerson()
    provider.play(reply({ text: [JSON.stringify(answer)] }))
    const task = await service.runTask(key, endpointId, { subject: 'tea' })
    expect(task).toMatchObject({ status: 'completed', response: answer })
    const [{ messages, response_format }] = provider.bodies
    expect(response_format).toEqual({ type: 'json_object' })
    expect(messages[0].content).toMatch(
      new RegExp(`^${instructions}\n\n.*JSON Schema: \\{.*"${Object.keys(answer)[0]}"`),
    )
    await stop()
  },
)

test('sends the output schema to a provider that supports schemas', async () => {
  const { provider, service, stop } = await startModels()
  const { key } = await service.createPerson()
  provider.play(reply({ text: ['{"title":"Tea","pages":10}'] }))
  await service.runTask(key, 'strict.book', { subject: 'tea' })
  expect(provider.bodies[0].response_format).toMatchObject({
    type: 'json_schema',
    json_schema: { schema: { type: 'object', required: ['title', 'pages'] } },
  })
  expect(JSON.stringify(provider.bodies[0].messages)).not.toMatch(/JSON Schema/)
  await stop()
})

test.for([
  { what: 'a field of the wrong type', text: '{"title":"Tea","pages":"ten"}' },
  { what: 'a missing field', text: '{"title":"Tea"}' },
  { what: 'not JSON', text: 'Tea, ten pages.' },
  { what: 'a truncated object', text: '{"title":"Tea","pa', finish: 'length' },
  { what: 'an empty string', text: '' },
  { what: 'only tool calls', text: '', calls: [{ id: 'a', name: 'weather', args: '{"city":"Bern"}' }] },
])('output that does not match its schema fails and refunds the task: $what', async ({ calls, finish, text }) => {
  const { provider, service, stop } = await startModels()
  const person = await service.createPerson()
  provider.play(reply({ text: text ? [text] : [], ...(finish && { finish }), ...(calls && { calls }) }))
  await expectFailedTask(service, person, { endpointId: 'model.book', message: /does not match the endpoint's schema/ })
  await stop()
})

test('output that does not match a plain JSON Schema also fails the task', async () => {
  const { provider, service, stop } = await startModels()
  const person = await service.createPerson()
  provider.play(reply({ text: ['{"names":["Ada",7]}'] }))
  await expectFailedTask(service, person, { endpointId: 'model.list', message: /does not match the endpoint's schema/ })
  await stop()
})

test.for([
  { endpointId: 'model.number', message: /did not return a non-empty string/ },
  { endpointId: 'model.promise', message: /did not return a non-empty string/ },
  { endpointId: 'model.thrown', message: /^There is no prompt today\.$/ },
])(
  'a task of $endpointId, which throws or returns no prompt string, fails without a model call',
  async ({ endpointId, message }) => {
    const { provider, service, stop } = await startModels()
    const person = await service.createPerson()
    provider.play(reply({ text: ['Never.'] }))
    await expectFailedTask(service, person, { endpointId, message })
    expect(provider.requests).toEqual([])
    await stop()
  },
)

test.for(ofTier([{ inThreads: true }], [{ inThreads: false }, { inThreads: true }]))(
  'an unresponsive model gives AGENT_TIMEOUT, a refund and an aborted request (threads: $inThreads)',
  async ({ inThreads }) => {
    const { provider, service, stop } = await startModels({ inThreads, limits: { agentThreads: 1 } })
    const { key } = await service.createPerson()
    // A thread loads the AI SDK for its first task, which can take longer than a second on a busy machine.
    provider.play(reply({ text: ['Tea.'] }))
    const { taskId } = (await service.createTask(key, 'model.draft', { subject: 'tea' })).body
    const status = async () => (await service.get(`/api/tasks/${taskId}`, key)).body.status
    await expect.poll(status, { timeout: 50_000, interval: 50 }).toBe('completed')
    const { balanceUsd } = (await service.get('/api/account', key)).body
    provider.play(hang)
    const task = await service.runTask(key, 'model.brief', { subject: 'tea' })
    expect(task).toMatchObject({ status: 'failed', error: { code: 'AGENT_TIMEOUT' } })
    await expect.poll(() => provider.requests[0]?.abortedAt, soon).toEqual(expect.any(Number))
    expect((await service.get('/api/account', key)).body.balanceUsd).toBe(balanceUsd)
    await stop()
  },
)

test('a prompt longer than contextTokens fails before the provider is called', async () => {
  const { provider, service, stop } = await startModels()
  const { key } = await service.createPerson()
  provider.play(reply({ text: ['Read.'] }))
  const bytes = 128_000 * 4
  const around = Buffer.byteLength('Write about .')
  const fits = await service.runTask(key, 'model.draft', { subject: '7'.repeat(bytes - around) })
  expect(fits.status).toBe('completed')
  const task = await service.runTask(key, 'model.draft', { subject: '7'.repeat(bytes - around + 1) })
  const message =
    'The prompt for these params is longer than 128000 tokens, the maximum for this agent. Shorten the params.'
  expect(task).toMatchObject({ status: 'failed', error: { message } })
  expect(provider.requests).toHaveLength(1)
  expect((await service.get('/api/account', key)).body.balanceUsd).toBe('9.9900')
  await stop()
})
