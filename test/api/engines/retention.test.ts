import { expect, test } from 'vitest'
import { Catalogue } from '../../../server/agents/config/catalogue.ts'
import { sendCurrent } from '../../mcp/mcp-calls.ts'
import { unlimited } from '../../runner/task-checks.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import testAgents from '../../support/test-agents.ts'
import { startService, type TestService } from '../../support/test-service.ts'

const dayMs = 86_400_000

const configOf = (retention: object) => ({ ...testAgents, retention })

async function pruneAll({ app: { store } }: TestService): Promise<void> {
  while (await store.prune()) continue
}

test('after the retention a task shows its price and times, and when its contents were deleted', async () => {
  const clock = new FakeClock()
  const service = await startService({ config: configOf({ tasksDays: 7 }), clock, limits: unlimited })
  const { key } = await service.createPerson()
  const echo = await service.runTask(key, 'test.echo', { secret: 'a name' })
  const large = await service.runTask(key, 'test.large', { chars: 100_000 })
  const failed = await service.runTask(key, 'test.fail', { message: 'a name' })
  const before = await service.get('/api/transactions', key)
  clock.advance(7 * dayMs)
  await pruneAll(service)
  const prunedAt = new Date(clock.now()).toISOString()
  const read = async (id: string) => (await service.get(`/api/tasks/${id}`, key)).body
  const empty = { request: {}, response: null, prunedAt }
  expect(await read(echo.id)).toEqual({ ...echo, ...empty })
  const { responseUri: _, ...whole } = large
  expect(await read(large.id)).toEqual({ ...whole, ...empty })
  expect(await read(failed.id)).toEqual({
    ...failed,
    ...empty,
    error: { code: 'AGENT_ERROR', message: '', details: '' },
  })
  expect(await service.app.store.listPayloads({ afterId: '', limit: 9 })).toEqual([])
  expect((await service.get('/api/tasks?search=name', key)).body.tasks).toEqual([])
  expect(await service.get('/api/transactions', key)).toMatchObject({ body: before.body })
  expect(await service.app.store.verifyLedger()).toMatchObject({ ok: true })
  await service.stop()
})

test('an MCP client that reads a pruned task learns that its contents were deleted', async () => {
  const clock = new FakeClock()
  const service = await startService({ config: configOf({ tasksDays: 7 }), clock, limits: unlimited })
  const { key } = await service.createPerson()
  const { id: taskId } = await service.runTask(key, 'test.echo', { a: 1 })
  clock.advance(8 * dayMs)
  await pruneAll(service)
  const { body } = await sendCurrent(service, 'tasks/get', { taskId }, { key })
  const text = `The contents of this task were deleted on ${new Date(clock.now()).toISOString()}. Call the tool again for a new result.`
  expect(body.result.result).toMatchObject({ content: [{ type: 'text', text }], isError: true })
  await service.stop()
})

test('a retention that is too short, or that would delete active sessions, is rejected', async () => {
  const tooShort = /retention\.tasksDays: must be at least 7, because webhook events are stored for 7 days/
  for (const tasksDays of [0, -1, 6]) {
    expect(() => new Catalogue(configOf({ tasksDays }), null)).toThrow(tooShort)
  }
  for (const wrong of [7.5, 36_501, '30', Number.NaN]) {
    expect(() => new Catalogue(configOf({ sessionsDays: wrong }), null)).toThrow(/retention\.sessionsDays/)
  }
  const config = configOf({ sessionsDays: 7 })
  await expect(startService({ config, limits: { sessionIdleSeconds: (7 * dayMs) / 1000 } })).rejects.toThrow(
    'retention.sessionsDays: must be longer than limits.sessionIdleSeconds',
  )
})

test('the service logs at the start what it will delete', async () => {
  const infos: unknown[] = []
  const log = { debug() {}, warn() {}, error() {}, info: (...line: unknown[]) => void infos.push(line) }
  const service = await startService({ config: configOf({ tasksDays: 90 }), log })
  expect(infos).toContainEqual([
    { tasksDays: 90, sessionsDays: undefined },
    'retention is on; the contents of tasks and sessions are deleted after this many days',
  ])
  await service.stop()
})
