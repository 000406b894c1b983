import { rmSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { startProcess } from '../../support/test-process.ts'
import { newDataDir } from '../../support/test-service.ts'
import { besideServer, openAccount, ProcessClient } from '../process-client.ts'
import { rogueFile, signalFiles, soon, untilBegun } from '../task-checks.ts'

const env = { ERRAND_EXECUTIONS_PER_MINUTE: '0', ERRAND_TASK_CONCURRENCY: '1' }

test('repeated SIGTERM lets running tasks finish and exits with 0; pending tasks run later', async () => {
  const dataDir = newDataDir()
  const { key } = await openAccount(dataDir)
  const server = await startProcess({ dataDir, config: rogueFile, env })
  const client = new ProcessClient(server.url, key)
  const files = signalFiles(dataDir)
  const { body: held } = await client.createTask('rogue.hold', files)
  await untilBegun(files)
  const { body: behind } = await client.createTask('rogue.echo', { n: 1 })

  const exited = server.end('SIGTERM')
  await expect.poll(async () => (await client.createTask('rogue.echo')).status, soon).toBe(503)
  server.child.kill('SIGTERM')
  server.child.kill('SIGTERM')
  const refused = await client.createTask('rogue.echo')
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, expect.stringMatching(/^\d+$/)])
  expect((await client.get(`/api/tasks/${held.taskId}`)).body.status).toBe('processing')
  writeFileSync(files.release, '')
  expect(await exited).toBe(0)

  const restarted = await startProcess({ dataDir, config: rogueFile, env })
  const again = new ProcessClient(restarted.url, key)
  expect((await again.get(`/api/tasks/${held.taskId}`)).body.status).toBe('completed')
  expect((await again.get(`/api/tasks/${behind.taskId}?wait=20`)).body).toMatchObject({
    status: 'completed',
    response: { n: 1 },
  })
  expect(await restarted.end('SIGTERM')).toBe(0)
  expect(await besideServer(dataDir, (store) => store.verifyLedger())).toMatchObject({ ok: true, differences: [] })
  rmSync(dataDir, { recursive: true })
})

test('SIGTERM exits with 0 after drainSeconds and refunds the task, even if an agent blocks its thread', async () => {
  const dataDir = newDataDir()
  const { key, userId } = await openAccount(dataDir)
  const server = await startProcess({ dataDir, config: rogueFile, env: { ...env, ERRAND_DRAIN_SECONDS: '1' } })
  const client = new ProcessClient(server.url, key)
  const files = signalFiles(dataDir)
  const { body: blocked } = await client.createTask('rogue.block', files)
  await untilBegun(files)
  expect(await server.end('SIGTERM')).toBe(0)
  await besideServer(dataDir, async (store) => {
    const task = await store.getTask({ userId, taskId: blocked.taskId })
    expect(task).toMatchObject({ status: 'failed', error: { code: 'AGENT_INTERRUPTED' } })
    expect((await store.getAccount(userId))?.balance).toBe(10_000_000)
    expect(await store.verifyLedger()).toMatchObject({ ok: true, differences: [] })
  })
  rmSync(dataDir, { recursive: true })
})
