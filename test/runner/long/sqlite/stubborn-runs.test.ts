import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { ThreadHost } from '../../../../server/agents/threads/thread-host.ts'
import type { RunOutcome } from '../../../../server/agents/run/run-outcome.ts'
import { say } from '../../../support/chat-agents.ts'
import { until, waitMsMax, within } from '../../../support/until.ts'
import { newDataDir, startService } from '../../../support/test-service.ts'
import rogueAgents from '../../rogue-agents.ts'
import { expectSound, moneyOf, refundedOnce, rogueFile, signalFiles, unlimited, untilBegun } from '../../task-checks.ts'
import { ratesAt } from '../../../support/rates.ts'

const chatFile = fileURLToPath(new URL('../../../support/chat-agents.ts', import.meta.url))
const limits = { ...unlimited, agentThreads: 1 }

test('an agent ignoring its signal gets AGENT_TIMEOUT, a refund and later a new thread', async () => {
  const service = await startService({ config: rogueAgents, configFile: rogueFile, limits })
  const { key } = await service.createPerson()
  const files = signalFiles(service.dataDir)
  const threadOf = async () => (await service.runTask(key, 'rogue.thread')).response.threadId as number
  const first = await threadOf()
  const { body: held } = await service.createTask(key, 'rogue.hold', files)
  await untilBegun(files)
  const task = await service.runTask(key, 'rogue.stubborn')
  expect(task).toMatchObject({
    status: 'failed',
    response: null,
    error: {
      code: 'AGENT_TIMEOUT',
      message: 'The agent did not finish within 1 second. Send less work per task.',
      details: '',
    },
  })
  expect(await moneyOf(service, key, task.id)).toEqual(refundedOnce)
  await expect.poll(threadOf, { timeout: 20_000, interval: 100 }).not.toBe(first)
  // The other run continued meanwhile.
  expect((await service.get(`/api/tasks/${held.taskId}`, key)).body.status).toBe('processing')
  writeFileSync(files.release, '')
  expect((await service.get(`/api/tasks/${held.taskId}?wait=20`, key)).body).toMatchObject({
    status: 'completed',
    response: { threadId: first },
  })
  await expectSound(service, key)
  await service.stop()
})

test('late rejections and errors in listeners or timers of an agent change nothing', async () => {
  const service = await startService({ config: rogueAgents, configFile: rogueFile, limits })
  const { key } = await service.createPerson()
  const files = signalFiles(service.dataDir)
  const { body: held } = await service.createTask(key, 'rogue.hold', files)
  await untilBegun(files)
  const late = await service.runTask(key, 'rogue.rejectAfterAbort')
  expect(late).toMatchObject({ status: 'failed', error: { code: 'AGENT_TIMEOUT' } })
  for (let round = 0; round < 5; round++) {
    expect(await service.runTask(key, 'rogue.leaveBehind')).toMatchObject({
      status: 'completed',
      response: { left: 'behind' },
    })
  }
  expect((await service.get(`/api/tasks/${late.id}`, key)).body).toEqual(late)
  expect(await moneyOf(service, key, late.id)).toEqual(refundedOnce)
  writeFileSync(files.release, '')
  expect((await service.get(`/api/tasks/${held.taskId}?wait=20`, key)).body.status).toBe('completed')
  await expectSound(service, key)
  await service.stop()
})

test('a chat interrupted by an internal error of the service leaves its thread usable', async () => {
  const host = await startHost(chatFile)
  const chat = (message: string, onStep: () => Promise<number>) =>
    host.runChat(
      {
        agentId: 'talk',
        userId: 'user',
        sessionId: 'session',
        turnId: 'turn',
        message,
        history: [],
        historyTokens: 0,
        room: 1_000_000,
        params: {},
        connectors: [],
        rates: ratesAt({}),
      },
      { generation: 0, onBatch: () => {}, onStep, signal: new AbortController().signal, limitMs: 60_000 },
    )
  const file = join(newDataDir(), 'aborted')
  const message = say({ do: 'note-abort', file }, { do: 'raw', part: { type: 'step', promptTokens: 1 } })
  const lost = await within('its end', waitMsMax, chat(message, () => Promise.reject(new Error('lost'))).outcome)
  expect(lost).toEqual({ kind: 'interrupted', message: 'An internal error stopped the run. Try again.' })
  await until('its agent is stopped', waitMsMax, () => existsSync(file))
  await until('its run is over', waitMsMax, () => host.threads()[0]?.running === 0)
  const next = await within('the next end', waitMsMax, chat('Hello', async () => 1).outcome)
  expect([next.kind, host.threads()]).toMatchObject(['completed', [{ running: 0, isResponding: true }]])
  await host.close()
})

async function startHost(configFile: string): Promise<ThreadHost> {
  const host = new ThreadHost({
    configFile,
    threads: 1,
    memoryMb: 256,
    replyBytesMax: 1_000_000,
    resultBytesMax: 1_000_000,
    connectorLimits: { processesMax: 64, processesPerUserMax: 8 },
    renewToken: async () => ({ failure: 'Nobody signed in.' }),
    env: {},
    onLog: () => {},
    onWarning: () => {},
  })
  await host.ready()
  return host
}

test('a delay in the serving thread does not end a healthy agent thread', async () => {
  const dataDir = newDataDir()
  const host = await startHost(rogueFile)
  const run = (endpointId: string, params: object, signal: AbortSignal) =>
    host.runTask(
      { endpointId, taskId: 'task', userId: 'user', params: JSON.stringify(params), timeoutMs: 60_000, connectors: [] },
      { generation: 0, signal, onForbidCancel: async () => {}, onProgress: () => {}, onWaiting: () => {} },
    )
  const files = signalFiles(dataDir)
  const beside = run('rogue.hold', files, new AbortController().signal)
  const controller = new AbortController()
  const late = run('rogue.stubborn', {}, controller.signal)
  await untilBegun(files)
  const until = performance.now() + 2500
  while (performance.now() < until) continue
  const timeout: RunOutcome = { kind: 'failed', error: { code: 'AGENT_TIMEOUT', message: '', details: '' } }
  controller.abort(timeout)
  expect(await late).toEqual(timeout)
  writeFileSync(files.release, '')
  expect(await beside).toMatchObject({ kind: 'completed' })
  await host.close()
})
