import { expect, test } from 'vitest'
import { FakeClock } from '../../support/fake-clock.ts'
import { startService, type TestService } from '../../support/test-service.ts'
import { expectStatus } from '../signed-in.ts'

const path = '/api/tasks/export'
const lines = { Accept: 'application/x-ndjson' }

async function exported(service: TestService, key: string, query = ''): Promise<Record<string, string>[]> {
  const { body, headers, status } = await service.get(`${path}${query}`, key)
  expect([status, headers.get('content-type')]).toEqual([200, 'text/csv; charset=utf-8'])
  expect(headers.get('content-disposition')).toBe('attachment; filename="errand-tasks.csv"')
  const [names, ...rows] = (body as string).trimEnd().split('\r\n')
  const columns = names!.split(',')
  return rows.map((row) => {
    const cells = row.match(/(?<=^|,)(?:"(?:[^"]|"")*"|[^",]*)(?=,|$)/g)!
    return Object.fromEntries(cells.map((cell, at) => [columns[at]!, cell.replace(/^"(.*)"$/, '$1')]))
  })
}

test('exports the caller’s tasks as CSV with costs, tags and times, or as the list items in JSON', async () => {
  const clock = new FakeClock()
  const service = await startService({ clock })
  const { key } = await service.createPerson()
  const stranger = await service.createPerson()
  await service.runTask(stranger.key, 'test.echo')
  const keyId = (await service.get('/api/keys', key)).body.keys[0].id
  const { id: first } = await service.runTask(key, 'test.echo', { secret: 'param' })
  clock.advance(1000)
  const failing = { endpointId: 'test.fail', params: {}, tags: { team: 'a', env: 'x, y' } }
  const { taskId } = await expectStatus(200, service.post('/api/tasks', failing, { key }))
  await service.get(`/api/tasks/${taskId}?wait=20`, key)

  const [failed, completed, ...others] = await exported(service, key)
  expect(others).toEqual([])
  expect(failed).toEqual({
    id: taskId,
    agentId: 'test',
    endpointId: 'test.fail',
    status: 'failed',
    errorCode: 'AGENT_ERROR',
    costUsd: '0.0200',
    refundedUsd: '0.0200',
    keyId,
    tags: 'team:a, env:x, y',
    createdAt: '2026-01-15T12:00:01.000Z',
    startedAt: '2026-01-15T12:00:01.000Z',
    completedAt: '2026-01-15T12:00:01.000Z',
    queuedMs: '0',
    ranMs: '0',
    startedBy: '',
    startedById: '',
  })
  expect(completed).toMatchObject({ id: first, status: 'completed', errorCode: '', refundedUsd: '0.0000', tags: '' })
  const { body, headers } = await service.request('GET', path, { key, headers: lines })
  expect(headers.get('content-type')).toBe('application/x-ndjson')
  expect(headers.get('content-disposition')).toBe('attachment; filename="errand-tasks.ndjson"')
  expect(
    body
      .trimEnd()
      .split('\n')
      .map((line: string) => JSON.parse(line)),
  ).toEqual((await service.get('/api/tasks', key)).body.tasks)

  for (const [query, ids] of [
    ['status=failed', [taskId]],
    ['outcome=completed', [first]],
    ['endpointId=test.echo', [first]],
    [`keyId=${keyId}&agentId=test`, [taskId, first]],
    ['tag=team:a&tag=env:x, y', [taskId]],
    ['search=PARAM', [first]],
    ['createdAfter=2026-01-15T12:00:00.500Z', [taskId]],
    ['createdBefore=2026-01-15T12:00:00Z', []],
  ] as const) {
    expect(
      (await exported(service, key, `?${query}`)).map(({ id }) => id),
      query,
    ).toEqual(ids)
  }
  await service.stop()
})

test('an export reads one page at a time, and excludes tasks that are created meanwhile', async () => {
  const service = await startService({ limits: { executionsPerMinute: 0 } })
  const { key } = await service.createPerson()
  await Promise.all(Array.from({ length: 260 }, () => service.createTask(key, 'test.free')))
  const { store } = service.app
  const { exportTasks } = store
  const pages: number[] = []
  store.exportTasks = async (of) => {
    const page = await exportTasks(of)
    pages.push(page.tasks.length)
    await service.createTask(key, 'test.free')
    return page
  }
  expect(new Set((await exported(service, key)).map(({ id }) => id)).size).toBe(260)
  expect(pages).toEqual([250, 10])
  await service.stop()
})

test('rejects invalid filters, a missing scope and a second concurrent export', async () => {
  const service = await startService()
  const { key, userId } = await service.createPerson()
  for (const query of ['status=done', 'keyId=', 'createdAfter=today', 'status=failed&status=failed', 'tag=a']) {
    const { body, status } = await service.get(`${path}?${query}`, key)
    expect([status, body.details[0].path.replace('[0]', '')], query).toEqual([400, query.split('=')[0]])
  }
  const writer = await service.createKey(userId, ['execute', 'manage'])
  expect((await service.get(path, writer)).status).toBe(403)
  expect((await service.get(path)).status).toBe(401)

  const { store } = service.app
  const { exportTasks } = store
  const [begun, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  store.exportTasks = async (of) => {
    begun.resolve()
    await released.promise
    return await exportTasks(of)
  }
  const first = service.get(path, key)
  await begun.promise
  const second = await service.get(path, key)
  expect([second.status, second.headers.get('retry-after')]).toEqual([429, '30'])
  released.resolve()
  expect((await first).status).toBe(200)
  await service.stop()
})
