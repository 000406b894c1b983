import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import notedAgents from '../../faults/noted-agents.ts'
import { startProcess } from '../../support/test-process.ts'
import { newDataDir, startService } from '../../support/test-service.ts'
import { openAccount, ProcessClient } from '../process-client.ts'
import { chargedOnce, moneyOf, refundedOnce, soon, unlimited } from '../task-checks.ts'

const noted = fileURLToPath(new URL('../../faults/noted-agents.ts', import.meta.url))
/** Returns the starts and ends of runs, without process ids and times. */
function linesOf(file: string): string[] {
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : []
  return lines.map((line) => line.split(' ').slice(0, 2).join(' '))
}

test('a run longer than every interval of the service runs once, even with a backlog', async () => {
  const service = await startService({
    config: notedAgents,
    configFile: noted,
    limits: { ...unlimited, taskConcurrency: 2, agentThreads: 1 },
  })
  const { key } = await service.createPerson()
  const file = join(service.dataDir, 'runs')
  // The runner rereads the queue a second after a failure, and pings threads every two seconds.
  const { body } = await service.createTask(key, 'noted.once', { file, ms: 4500 })
  const short = Array.from({ length: 40 }, () => service.createTask(key, 'noted.again', { file, ms: 20 }))
  const ids = (await Promise.all(short)).map((answer) => answer.body.taskId as string)
  for (const taskId of [...ids, body.taskId]) {
    expect((await service.get(`/api/tasks/${taskId}?wait=20`, key)).body.status).toBe('completed')
  }
  const expected = [...ids, body.taskId].flatMap((id) => [`${id} begins`, `${id} ends`])
  expect(linesOf(file).toSorted()).toEqual(expected.toSorted())
  await service.stop()
})

test('a non-retryable run interrupted by kill -9 is refunded and never runs again', async () => {
  const dataDir = newDataDir()
  const file = join(dataDir, 'runs')
  const { key } = await openAccount(dataDir)
  const env = { ERRAND_AGENT_THREADS: '1', ERRAND_LOG_LEVEL: 'error' }
  const first = await startProcess({ dataDir, config: noted, env })
  const { body } = await new ProcessClient(first.url, key).createTask('noted.once', { file, ms: 3000 })
  await expect.poll(() => linesOf(file), soon).toEqual([`${body.taskId} begins`])
  await first.end('SIGKILL')
  for (let restart = 0; restart < 2; restart++) {
    const server = await startProcess({ dataDir, config: noted, env })
    const client = new ProcessClient(server.url, key)
    const ended = (await client.get(`/api/tasks/${body.taskId}?wait=20`)).body
    expect(ended).toMatchObject({ status: 'failed', error: { code: 'AGENT_INTERRUPTED' } })
    // A task created later has run, so this task would have run too.
    expect((await client.runTask('test.echo', {})).status).toBe('completed')
    expect((await client.get('/api/account')).body.balanceUsd).toBe(restart === 0 ? '999.9900' : '999.9800')
    await server.end('SIGTERM')
  }
  expect(linesOf(file)).toEqual([`${body.taskId} begins`])
  rmSync(dataDir, { recursive: true })
})

test('concurrent polls of an ending task never cause a second refund', async () => {
  const service = await startService({ limits: unlimited })
  const { key } = await service.createPerson()
  const ends = [
    {
      endpointId: 'test.fail',
      money: [
        ['task_charge', '-0.0200'],
        ['task_refund', '0.0200'],
      ],
    },
    { endpointId: 'test.stubborn', money: refundedOnce },
    { endpointId: 'test.echo', money: chargedOnce },
  ]
  for (const { endpointId, money } of ends) {
    const { taskId } = (await service.createTask(key, endpointId)).body
    const path = `/api/tasks/${taskId}`
    const input = encodeURIComponent(JSON.stringify({ json: { taskId, wait: 10 } }))
    const polls = Array.from({ length: 30 }, (_, n) =>
      service.get([`${path}?wait=10`, path, `/trpc/tasks.get?input=${input}`][n % 3]!, key),
    )
    expect(new Set((await Promise.all(polls)).map(({ status }) => status))).toEqual(new Set([200]))
    expect((await service.get(`${path}?wait=10`, key)).body.completedAt).toEqual(expect.any(String))
    expect(await moneyOf(service, key, taskId)).toEqual(money)
  }
  expect(await service.app.store.verifyLedger()).toMatchObject({ ok: true })
  await service.stop()
})
