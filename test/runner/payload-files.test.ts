import { mkdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { storedPayloads } from '../support/stored-payloads.ts'
import { engine } from '../support/test-engine.ts'
import { startService } from '../support/test-service.ts'
import rogueAgents from './rogue-agents.ts'
import { expectSound, moneyOf, refundedOnce, signalFiles, unlimited, untilBegun } from './task-checks.ts'

const large = { text: 'x'.repeat(20_000) }
const hourMs = 3_600_000

test('a rejected or repeated request leaves no payload behind', async () => {
  const service = await startService({ limits: { executionsPerMinute: 3 } })
  const { payloads } = service.app.services.tasks
  const stored = storedPayloads(service.dataDir)
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
  expect(await stored.ids()).toEqual([])
  const repeated = { 'Idempotency-Key': 'once' }
  // This endpoint returns little, so the only payloads are request payloads.
  const first = await service.createTask(key, 'test.free', large, repeated)
  const second = await service.createTask(key, 'test.free', large, repeated)
  expect(second.body).toEqual(first.body)
  expect((await service.createTask(key, 'test.free', { ...large, other: 1 }, repeated)).status).toBe(409)
  expect(await stored.ids()).toHaveLength(1)
  await service.createTask(key, 'test.free', large)
  await service.createTask(key, 'test.free', large)
  expect((await service.createTask(key, 'test.free', large)).status).toBe(429)
  expect(await stored.ids()).toHaveLength(3)
  // Writes no file, not even briefly. Otherwise a user without a balance could fill the disk.
  expect(writes).toBe(3)
  await service.stop()
})

test('parallel large requests keep their payloads only if accepted', async () => {
  const service = await startService({ limits: unlimited })
  const { key } = await service.createPerson({ balanceUsd: '2.5000' })
  const created = await Promise.all(Array.from({ length: 12 }, () => service.createTask(key, 'test.dear', large)))
  const accepted = created.filter(({ status }) => status === 200)
  expect(accepted).toHaveLength(2)
  expect(created.filter(({ status }) => status === 403)).toHaveLength(10)
  expect(await storedPayloads(service.dataDir).ids()).toHaveLength(2)
  await service.stop()
})

test('a result whose save was not confirmed is stored once and kept', async () => {
  const service = await startService({ limits: unlimited })
  const { key } = await service.createPerson()
  const { store } = service.app.services
  const completeTask = store.completeTask
  let unanswered = 0
  store.completeTask = async (input) => {
    const isStored = await completeTask(input)
    if (unanswered++ === 0) throw new Error('the connection was lost')
    return isStored
  }
  const task = await service.runTask(key, 'test.echo', large)
  expect(unanswered).toBe(2)
  expect(task.status).toBe('completed')
  const link = new URL(task.responseUri)
  expect((await service.get(link.pathname + link.search)).body).toMatchObject(large)
  await service.stop()
})

test('orphan collection removes only old unreferenced payloads', async () => {
  const service = await startService({ limits: unlimited })
  const { key } = await service.createPerson()
  const { payloads, store } = service.app.services.tasks
  const task = await service.runTask(key, 'test.echo', large)
  expect(task.status).toBe('completed')
  const stored = storedPayloads(service.dataDir)
  const named = await stored.ids()
  expect(named).toHaveLength(2)
  const { id: unsettled, digest } = await payloads.write('{"not":"named yet"}')
  const { id: orphan } = await payloads.write('{"never":"named"}')
  await payloads.release(orphan)
  await stored.age(await stored.ids(), 2 * hourMs)
  const { id: young } = await payloads.write('{"young":true}')
  await payloads.release(young)
  let orphans = 1
  if (engine().name === 'SQLite') {
    const folder = join(service.dataDir, 'payloads', 'zz')
    const partial = join(folder, `pay_${'z'.repeat(26)}.partial`)
    mkdirSync(folder, { recursive: true })
    writeFileSync(partial, '{"torn')
    utimesSync(partial, 0, 0)
    orphans++
  }

  const collect = () => payloads.collectOrphans(hourMs, async (id) => (await store.findPayload(id)) !== undefined)
  expect(await collect()).toBe(orphans)
  expect(await collect()).toBe(0)
  const left = await stored.ids()
  expect(left).toEqual(expect.arrayContaining(named))
  expect(left).toHaveLength(4)
  expect(left.includes(orphan)).toBe(false)
  expect(await payloads.read(unsettled, digest)).toBe('{"not":"named yet"}')
  expect(await payloads.read(young, null)).toBe('{"young":true}')
  // A payload that will never be referenced is deleted immediately.
  await payloads.release(unsettled, true)
  expect(await stored.ids()).toHaveLength(3)
  await service.stop()
})

test('a missing or damaged stored request fails only its task, with a refund', async () => {
  const limits = { executionsPerMinute: 0, abuseFailures: 1, taskConcurrency: 1 }
  const service = await startService({ config: rogueAgents, limits })
  const { key } = await service.createPerson()
  const files = signalFiles(service.dataDir)
  const { body: first } = await service.createTask(key, 'rogue.hold', files)
  await untilBegun(files)
  const create = async (params: object) => (await service.createTask(key, 'rogue.echo', params)).body.taskId as string
  const [missing, truncated, whole] = [await create(large), await create(large), await create(large)]
  const stored = storedPayloads(service.dataDir)
  const idOf = async (taskId: string) =>
    /pay_\w+/.exec((await service.get(`/api/tasks/${taskId}`, key)).body.requestUri)![0]
  await stored.remove(await idOf(missing))
  await stored.replace(await idOf(truncated), (await stored.read(await idOf(truncated))).subarray(0, 10_000))
  expect(JSON.parse((await stored.read(await idOf(whole))).toString())).toEqual(large)
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
