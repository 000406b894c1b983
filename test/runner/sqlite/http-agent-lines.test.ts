import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { httpRun } from '../../../server/agents/http/http-agent.ts'
import { httpLimits, toHttpService } from '../../../server/agents/http/http-service.ts'
import { runHttpTask } from '../../../server/agents/http/http-task.ts'
import { EventCharges } from '../../../server/billing/event-charges.ts'
import { startService } from '../../support/test-service.ts'
import {
  agentAt,
  replyWith,
  secret,
  startAgentService,
  taskRun,
  type AgentService,
  type ServiceAnswer,
} from '../agent-service.ts'
import { moneyOf, soon, unlimited } from '../task-checks.ts'

const metering = { prices: { page: 20 }, cap: 100 }

/** Runs a metered task and returns its value or failure, progress and charges. */
async function outcomeOf(answer: ServiceAnswer) {
  const service = await startAgentService(answer)
  const told: unknown[] = []
  const charges = new EventCharges(metering)
  const run = taskRun({
    metering,
    progress: (progress) => told.push(progress),
    charge: (event, count = 1) => charges.charge(event, count),
  })
  const result = await httpRun(
    agentAt(service.url),
    'count',
  )(run).then(
    (value) => ({ value }),
    (error: Error) => ({ failure: error.message }),
  )
  await service.stop()
  return { ...result, told, usage: charges.usage, asked: service.requests[0]!.body }
}

const lines = (...events: unknown[]) => replyWith(...events.map((event) => `${JSON.stringify(event)}\n`))

test("lines report progress and charges, and the result line is the task's value", async () => {
  const outcome = await outcomeOf(
    lines(
      { type: 'progress', fraction: 0.5, message: 'half', data: [1] },
      { type: 'charge', event: 'page', count: 2 },
      { type: 'charge', event: 'page' },
      { type: 'result', result: { words: 2 } },
      { type: 'charge', event: 'page', count: 1 },
    ),
  )
  expect(outcome).toMatchObject({
    value: { words: 2 },
    told: [{ fraction: 0.5, message: 'half', data: [1] }],
    // Lines after the result are not read.
    usage: { page: 3 },
  })
  expect(outcome.asked).toMatchObject({ type: 'task', pricing: { events: { page: '0.0020' }, maxUsd: '0.0100' } })
})

test.each([
  ['a charge beyond the maximum is limited to the maximum', [{ type: 'charge', event: 'page', count: 9 }], { page: 5 }],
  ['a task without charges and progress succeeds', [], {}],
])('%s', async (_, events, usage) => {
  expect(await outcomeOf(lines(...events, { type: 'result', result: 'r' }))).toMatchObject({ value: 'r', usage })
})

const sent = "The agent's service"
test.each([
  ['an error line', [{ type: 'error', message: 'No text.' }], 'No text.'],
  [
    'an unknown event',
    [{ type: 'charge', event: 'word' }],
    'charge: the endpoint does not have a price for this event',
  ],
  ['a negative count', [{ type: 'charge', event: 'page', count: -1 }], 'charge: the count must be a whole number'],
  ['an unknown type', [{ type: 'delta', delta: 'x' }], `${sent} sent a line of type "delta". Use progress,`],
  ['a line without a type', [{}], `${sent} sent a line of type none. Use progress`],
  [
    'a missing result',
    [{ type: 'progress' }],
    `${sent} ended its response without a result. End it with a line of type result or error.`,
  ],
  ['an empty response', [], `${sent} ended its response without a result. End it with a line of type result or error.`],
  [
    'a line that is not an object',
    [7],
    `${sent} sent a line that is not a JSON object. Send one JSON object per line.`,
  ],
])('%s fails the task with a reason', async (_, events, failure) => {
  expect((await outcomeOf(lines(...events))) as { failure: string }).toMatchObject({
    failure: expect.stringContaining(failure),
  })
})

test('a line that is too long or has too many values fails before parsing', async () => {
  const service = toHttpService(agentAt('http://127.0.0.1'))
  const outcome = async (answer: ServiceAnswer, limits: Partial<typeof httpLimits>) => {
    const asked = await startAgentService(answer)
    const task = { service: { ...service, url: new URL(asked.url) }, agentId: 'remote', name: 'count', run: taskRun() }
    const failure = await runHttpTask({ ...task, limits: { ...httpLimits, ...limits } }).catch((error: Error) => error)
    await asked.stop()
    return (failure as Error).message
  }
  const long = lines({ type: 'result', result: 'x'.repeat(2_000_000) })
  expect(await outcome(long, { lineBytesMax: 1_000_000 })).toMatch(/sent a line of more than/)
  const heavy = lines({ type: 'result', result: Array.from({ length: 20_000 }, () => 0) })
  expect(await outcome(heavy, { taskValuesMax: 10_000 })).toMatch(/responded with more than 10000 values/)
  const cut: ServiceAnswer = (response) => {
    response.writeHead(200, { 'Content-Type': 'application/x-ndjson' })
    response.write('{"type":"progress"}\n', () => response.destroy())
  }
  expect(await outcome(cut, {})).toMatch(/closed the connection before its response was complete/)
})

/** Starts a service that sends lines until the client leaves. */
async function startEndless(): Promise<AgentService & { left: () => number }> {
  let left = 0
  const service = await startAgentService(async (response) => {
    response.on('close', () => left++)
    response.writeHead(200, { 'Content-Type': 'application/x-ndjson' })
    for (let step = 1; !response.destroyed; step++) {
      response.write(`${JSON.stringify({ type: 'progress', data: { step } })}\n`)
      await pause(20)
    }
  })
  return Object.assign(service, { left: () => left })
}

test('aborting a run between lines closes its connection', async () => {
  const service = await startEndless()
  const stop = new AbortController()
  let steps = 0
  const run = taskRun({
    signal: stop.signal,
    progress: () => {
      if (++steps === 3) stop.abort()
    },
  })
  await expect(httpRun(agentAt(service.url), 'count')(run)).rejects.toThrow('The run was stopped.')
  await expect.poll(service.left, soon).toBe(1)
  await service.stop()
})

test('remote progress appears on the task, and canceling it closes the connection', async () => {
  const remote = await startEndless()
  const endpoint = { description: 'Counts.', pricing: { events: { page: '0.0010' }, maxUsd: '0.0500' }, params: {} }
  const agent = {
    kind: 'http',
    id: 'remote',
    name: 'Remote',
    url: remote.url,
    secret,
    endpoints: { count: endpoint },
  } as const
  const service = await startService({ config: { agents: [agent] }, limits: unlimited })
  const { key } = await service.createPerson()
  const { taskId } = (await service.createTask(key, 'remote.count')).body
  const step = async () => (await service.get(`/api/tasks/${taskId}`, key)).body.progress?.data?.step ?? 0
  await expect.poll(step, soon).toBeGreaterThan(2)
  expect((await service.post(`/api/tasks/${taskId}/cancel`, undefined, { key })).status).toBe(200)
  await expect.poll(remote.left, soon).toBe(1)
  expect(await moneyOf(service, key, taskId)).toEqual([
    ['task_charge', '-0.0500'],
    ['task_refund', '0.0500'],
  ])
  await service.stop()
  await remote.stop()
})
