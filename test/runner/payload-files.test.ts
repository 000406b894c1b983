import { readdirSync, readFileSync, rmSync, truncateSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startService, type TestService } from '../support/test-service.ts'
import rogueAgents from './rogue-agents.ts'
import { expectSound, moneyOf, refundedOnce, signalFiles, unlimited, untilBegun } from './task-checks.ts'

const large = { text: 'x'.repeat(20_000) }
const hourMs = 3_600_000

function payloadFiles({ dataDir }: TestService): string[] {
  const root = join(dataDir, 'payloads')
  try {
    const names = readdirSync(root, { recursive: true, withFileTypes: true })
    return names.filter((entry) => entry.isFile()).map(({ name, parentPath }) => join(parentPath, name))
  } catch {
    return []
  }
}

/** Makes a file look as if nobody had touched it for that long. */
function age(file: string, ms: number): void {
  const at = new Date(Date.now() - ms)
  utimesSync(file, at, at)
}

test('a refused request and a repeated one leave no file behind', async () => {
  const service = await startService({ limits: { executionsPerMinute: 3 } })
  const { payloads } = service.app.services
  const write = payloads.write.bind(payloads)
  let writes = 0
  payloads.write = (json) => {
    writes++
    return write(json)
  }
  const poor = await service.createPerson({ balanceUsd: '0.0000' })
  expect((await service.createTask(poor.key, 'test.echo', large)).status).toBe(403)
  const { key } = await service.createPerson()
  expect((await service.createTask(key, 'test.unknown', large)).status).toBe(404)
  expect((await service.createTask(key, 'test.typed', large)).status).toBe(400)
  expect(payloadFiles(service)).toEqual([])
  const repeated = { 'Idempotency-Key': 'once' }
  // This endpoint answers little, so that the only files are those of requests.
  const first = await service.createTask(key, 'test.free', large, repeated)
  const second = await service.createTask(key, 'test.free', large, repeated)
  expect(second.body).toEqual(first.body)
  expect((await service.createTask(key, 'test.free', { ...large, other: 1 }, repeated)).status).toBe(409)
  expect(payloadFiles(service)).toHaveLength(1)
  await service.createTask(key, 'test.free', large)
  await service.createTask(key, 'test.free', large)
  expect((await service.createTask(key, 'test.free', large)).status).toBe(429)
  expect(payloadFiles(service)).toHaveLength(3)
  // Not even for a moment: a user without balance could fill the disk.
  expect(writes).toBe(3)
  await service.stop()
})

test('of parallel large requests only those that were accepted keep their files', async () => {
  const service = await startService({ limits: unlimited })
  const { key } = await service.createPerson({ balanceUsd: '2.5000' })
  const created = await Promise.all(Array.from({ length: 12 }, () => service.createTask(key, 'test.dear', large)))
  const accepted = created.filter(({ status }) => status === 200)
  expect(accepted).toHaveLength(2)
  expect(created.filter(({ status }) => status === 403)).toHaveLength(10)
  expect(payloadFiles(service)).toHaveLength(2)
  await service.stop()
})

test('the collection of orphans removes old files that nothing names, and spares the young, the new and the named', async () => {
  const service = await startService({ limits: unlimited })
  const { key } = await service.createPerson()
  const { payloads, store } = service.app.services
  const task = await service.runTask(key, 'test.echo', large)
  expect(task.status).toBe('completed')
  const named = payloadFiles(service)
  expect(named).toHaveLength(2)
  const { id: unsettled, digest } = await payloads.write('{"not":"named yet"}')
  const { id: orphan } = await payloads.write('{"never":"named"}')
  await payloads.release(orphan)
  for (const file of payloadFiles(service)) age(file, 2 * hourMs)
  const { id: young } = await payloads.write('{"young":true}')
  await payloads.release(young)
  const partial = payloadFiles(service)
    .find((file) => file.includes(orphan))!
    .replace(/json$/, 'partial')
  writeFileSync(partial, '{"torn')
  age(partial, 2 * hourMs)

  const collect = () => payloads.collectOrphans(hourMs, async (id) => (await store.findPayload(id)) !== undefined)
  expect(await collect()).toBe(2)
  expect(await collect()).toBe(0)
  const left = payloadFiles(service)
  expect(left).toEqual(expect.arrayContaining(named))
  expect(left).toHaveLength(4)
  expect(left.some((file) => file.includes(orphan))).toBe(false)
  expect(await payloads.read(unsettled, digest)).toBe('{"not":"named yet"}')
  expect(await payloads.read(young, null)).toBe('{"young":true}')
  // Once it will never be named, it goes at once.
  await payloads.release(unsettled, true)
  expect(payloadFiles(service)).toHaveLength(3)
  await service.stop()
})

test('a stored request that is missing or damaged fails its own task with a refund and does not count as a failure', async () => {
  const limits = { executionsPerMinute: 0, abuseFailures: 1, taskConcurrency: 1 }
  const service = await startService({ config: rogueAgents, limits })
  const { key } = await service.createPerson()
  const files = signalFiles(service.dataDir)
  const { body: first } = await service.createTask(key, 'rogue.hold', files)
  await untilBegun(files)
  const create = async (params: object) => (await service.createTask(key, 'rogue.echo', params)).body.taskId as string
  const [missing, truncated, whole] = [await create(large), await create(large), await create(large)]
  const fileOf = async (taskId: string) => {
    const { requestUri } = (await service.get(`/api/tasks/${taskId}`, key)).body
    return payloadFiles(service).find((file) => file.includes(/pay_\w+/.exec(requestUri)![0]))!
  }
  rmSync(await fileOf(missing))
  truncateSync(await fileOf(truncated), 10_000)
  expect(JSON.parse(readFileSync(await fileOf(whole), 'utf8'))).toEqual(large)
  writeFileSync(files.release, '')
  const read = async (taskId: string) => (await service.get(`/api/tasks/${taskId}?wait=20`, key)).body
  for (const taskId of [missing, truncated]) {
    const task = await read(taskId)
    expect(task).toMatchObject({ status: 'failed', response: null, error: { code: 'AGENT_INTERRUPTED' } })
    expect(JSON.stringify(task.error)).not.toContain(service.dataDir)
    expect(await moneyOf(service, key, taskId)).toEqual(refundedOnce)
  }
  expect((await read(whole)).status).toBe('completed')
  expect((await read(first.taskId)).status).toBe('completed')
  expect((await service.get('/api/account', key)).body.blockedUntil).toBeNull()
  await expectSound(service, key)
  await service.stop()
})
