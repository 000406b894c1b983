import { expect, test } from 'vitest'
import { newDataDir, startService } from '../../../support/test-service.ts'
import { startProcess } from '../../../support/test-process.ts'
import rogueAgents from '../../rogue-agents.ts'
import { openAccount, ProcessClient } from '../../process-client.ts'
import { expectSound, moneyOf, refundedOnce, rogueFile, unlimited } from '../../task-checks.ts'

// process.kill(process.pid) is not tested, because a process cannot prevent its own code from signaling it.

const inThreads = {
  config: rogueAgents,
  configFile: rogueFile,
  limits: { ...unlimited, agentThreads: 2, agentThreadMemoryMb: 64 },
}

test('an agent that exits, aborts or ends its thread fails only its own run', async () => {
  const service = await startService(inThreads)
  const { key } = await service.createPerson()
  for (const endpointId of ['rogue.exit', 'rogue.exitByName', 'rogue.abort']) {
    const task = await service.runTask(key, endpointId)
    expect(task, endpointId).toMatchObject({ status: 'failed', error: { code: 'AGENT_ERROR' } })
    expect(await moneyOf(service, key, task.id)).toEqual(refundedOnce)
  }
  const task = await service.runTask(key, 'rogue.endThread')
  expect(task).toMatchObject({ status: 'failed', error: { code: 'AGENT_INTERRUPTED' } })
  expect(await moneyOf(service, key, task.id)).toEqual(refundedOnce)
  for (let round = 0; round < 4; round++) await expectSound(service, key)
  await service.stop()
})

test('exceeding thread memory gives AGENT_ERROR and a refund; the next run gets a new thread', async () => {
  const service = await startService(inThreads)
  const { key } = await service.createPerson()
  for (let round = 0; round < 2; round++) {
    const task = await service.runTask(key, 'rogue.memory')
    expect(task).toMatchObject({
      status: 'failed',
      error: {
        code: 'AGENT_ERROR',
        message:
          'The agent exceeded the memory limit of its thread. Send less work per run, or ask the operator to raise agentThreadMemoryMb.',
        details: '',
      },
    })
    expect(await moneyOf(service, key, task.id)).toEqual(refundedOnce)
    await expectSound(service, key)
  }
  await service.stop()
})

test('floods of logs, output or rejections from a run stay bounded', async () => {
  const dataDir = newDataDir()
  const { key } = await openAccount(dataDir)
  const server = await startProcess({ dataDir, config: rogueFile, env: { ERRAND_EXECUTIONS_PER_MINUTE: '0' } })
  let printed = ''
  server.child.stdout!.removeAllListeners('data')
  server.child.stdout!.on('data', (chunk: Buffer) => (printed += chunk.toString()))
  const client = new ProcessClient(server.url, key)
  const ids: string[] = []
  for (const what of ['log', 'print', 'reject']) {
    const task = await client.runTask('rogue.flood', { what, times: 20_000 })
    expect(task, what).toMatchObject({ status: 'completed', response: {} })
    ids.push(task.id)
  }
  expect(await client.runTask('rogue.echo', { still: 'here' })).toMatchObject({ status: 'completed' })
  expect(await server.end('SIGTERM')).toBe(0)
  const linesOf = (text: string) =>
    server
      .log()
      .split('\n')
      .filter((line) => line.includes(text)).length
  expect(linesOf('a flood of the log')).toBeGreaterThan(0)
  expect(linesOf('a flood of the log')).toBeLessThanOrEqual(1000)
  expect(linesOf('a flood of rejections')).toBeLessThanOrEqual(1000)
  expect(linesOf('a flood of standard output')).toBeLessThanOrEqual(1000)
  const logged = server
    .log()
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as { msg: string; taskId?: string })
  const ofPrinted = logged.filter(({ msg }) => msg.includes('a flood of standard output'))
  expect(ofPrinted.every(({ taskId }) => taskId === ids[1])).toBe(true)
  const dropped = logged.filter(({ msg }) => msg.startsWith('Dropped'))
  expect(dropped.filter(({ taskId }) => taskId !== undefined)).toMatchObject([
    { taskId: ids[0], msg: expect.stringContaining('19000 log lines in this run') },
    { taskId: ids[1], msg: expect.stringContaining('19000 log lines in this run') },
  ])
  // With --json, standard output contains one object, which was already read.
  expect(printed).toBe('')
})
