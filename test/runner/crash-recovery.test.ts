import type { TaskRecord } from '../../server/store/tasks/task-types.ts'
import { rmSync } from 'node:fs'
import { expect, test } from 'vitest'
import { ofTier } from '../run/tiers.ts'
import { engine } from '../support/test-engine.ts'
import { runErrand, startProcess, type ServerProcess } from '../support/test-process.ts'
import { newDataDir } from '../support/test-service.ts'
import { besideServer, openAccount, ProcessClient } from './process-client.ts'
import { soon } from './task-checks.ts'

const env = { ERRAND_EXECUTIONS_PER_MINUTE: '0', ERRAND_ABUSE_FAILURES: '0', ERRAND_TASK_CONCURRENCY: '16' }
/** Fewer rounds on PostgreSQL, where each takes longer. */
const killsAfter = engine().name === 'SQLite' ? ofTier([30, 80], [30, 55, 80, 105, 130]) : [30, 55, 80]
const clients = 8

type Created = { taskId: string; endpointId: string }

/**
 * Returns the endpoint and params of the nth task: short and long runs, some retryable, failing, or with large
 * payloads.
 */
function work(n: number): [string, object] {
  const kinds: [string, object][] = [
    ['test.echo', { n }],
    ['test.wait', { ms: 50 + (n % 7) * 100 }],
    ['test.retried', { ms: 20 + (n % 5) * 60 }],
    ['test.fail', { message: `failure ${n}` }],
    ['test.echo', { n, text: 'x'.repeat(20_000) }],
  ]
  return kinds[n % kinds.length]!
}

/** Creates tasks until the server is gone; resolves with those answered with 200. */
async function load(server: ServerProcess, key: string, killAfter: number): Promise<Created[]> {
  const client = new ProcessClient(server.url, key)
  const accepted: Created[] = []
  let sent = 0
  let exited: Promise<number | null> | undefined
  const killAtWork = async () => {
    while ((await client.get('/api/tasks?status=processing&limit=1')).body.total === 0) continue
    return await server.end('SIGKILL')
  }
  const createUntilGone = async () => {
    for (;;) {
      const [endpointId, params] = work(sent++)
      const answer = await client.createTask(endpointId, params).catch(() => undefined)
      if (!answer) return
      expect(answer.status).toBe(200)
      accepted.push({ taskId: answer.body.taskId, endpointId })
      // Kills during the load, while other clients have requests in flight and agents are running.
      if (accepted.length === killAfter) exited = killAtWork()
    }
  }
  await Promise.all(Array.from({ length: clients }, createUntilGone))
  await exited
  return accepted
}

test('after kill -9 under load, every accepted task is completed or refunded, exactly once', async () => {
  const dataDir = newDataDir()
  const { key, userId } = await openAccount(dataDir)
  const accepted: Created[] = []
  for (const killAfter of killsAfter) {
    const server = await startProcess({ dataDir, env })
    accepted.push(...(await load(server, key, killAfter)))
  }
  expect(accepted.length).toBeGreaterThanOrEqual(killsAfter.reduce((sum, count) => sum + count))
  const server = await startProcess({ dataDir, env })
  const client = new ProcessClient(server.url, key)
  const open = async () => {
    const [pending, processing] = await Promise.all([
      client.get('/api/tasks?status=pending&limit=1'),
      client.get('/api/tasks?status=processing&limit=1'),
    ])
    return pending.body.total + processing.body.total
  }
  await expect.poll(open, { timeout: 45_000, interval: 50 }).toBe(0)
  expect(await server.end('SIGTERM')).toBe(0)

  const report = JSON.parse(await runErrand(['ledger', 'verify', '--data', dataDir, '--json']))
  expect(report).toMatchObject({ ok: true, differences: [] })
  await besideServer(dataDir, async (store) => {
    const interrupted: TaskRecord[] = []
    for (const { endpointId, taskId } of accepted) {
      const task = await store.getTask({ userId, taskId })
      const { transactions } = await store.listTransactions({ userId, taskId, limit: 10, offset: 0 })
      const types = transactions.map(({ type }) => type).toSorted()
      if (task?.status === 'completed') expect(types, taskId).toEqual(['task_charge'])
      else {
        expect(task, `${taskId} was accepted`).toMatchObject({ status: 'failed', endpointId })
        expect(types, taskId).toEqual(['task_charge', 'task_refund'])
        expect(transactions.reduce((sum, { amount }) => sum + amount, 0)).toBe(0)
        expect(task?.error?.code).toEqual(endpointId === 'test.fail' ? expect.any(String) : 'AGENT_INTERRUPTED')
        if (task?.error?.code === 'AGENT_INTERRUPTED') interrupted.push(task)
      }
    }
    // The crashes hit running tasks, and retryable tasks ran up to three times.
    expect(interrupted.length).toBeGreaterThan(0)
    for (const task of interrupted) expect(task.attempt).toBe(task.endpointId === 'test.retried' ? 3 : 1)
  })
  rmSync(dataDir, { recursive: true })
}, 120_000)

test('after kill -9, running tasks are interrupted or retried, and pending tasks run', async () => {
  const dataDir = newDataDir()
  const { key } = await openAccount(dataDir)
  const few = { ...env, ERRAND_TASK_CONCURRENCY: '2' }
  const server = await startProcess({ dataDir, env: few })
  const client = new ProcessClient(server.url, key)
  const create = async (endpointId: string, params: object) =>
    (await client.createTask(endpointId, params)).body.taskId as string
  const once = await create('test.wait', { ms: 4000 })
  const retried = await create('test.retried', { ms: 2000 })
  const pending = await create('test.echo', { n: 1 })
  const statusOf = async (taskId: string) => (await client.get(`/api/tasks/${taskId}`)).body.status
  await expect.poll(() => Promise.all([once, retried].map(statusOf)), soon).toEqual(['processing', 'processing'])
  expect(await statusOf(pending)).toBe('pending')
  expect(await server.end('SIGKILL')).toBe(null)

  const restarted = await startProcess({ dataDir, env: few })
  const again = new ProcessClient(restarted.url, key)
  const read = async (taskId: string) => (await again.get(`/api/tasks/${taskId}?wait=20`)).body
  expect(await read(once)).toMatchObject({
    status: 'failed',
    error: { code: 'AGENT_INTERRUPTED', message: expect.any(String), details: '' },
  })
  expect(await read(retried)).toMatchObject({ status: 'completed', response: { waited: 2000 } })
  expect(await read(pending)).toMatchObject({ status: 'completed', response: { n: 1 } })
  expect((await again.get('/api/account')).body.balanceUsd).toBe('999.9800')
  expect(await restarted.end('SIGTERM')).toBe(0)
  rmSync(dataDir, { recursive: true })
})
