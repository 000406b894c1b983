import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { Catalogue } from '../../../server/agents/config/catalogue.ts'
import { executeTask } from '../../../server/agents/run/execute-task.ts'
import { PacedProgress } from '../../../server/agents/run/run-progress.ts'
import { noConnectors } from '../../../server/connectors/thread/run-connectors.ts'
import { startService, type TestService } from '../../support/test-service.ts'
import config from '../progress-agents.ts'
import { expectSound, signalFiles, soon, unlimited, untilBegun } from '../task-checks.ts'

const configFile = fileURLToPath(new URL('../progress-agents.ts', import.meta.url))
const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)

async function startWorld(options: Parameters<typeof startService>[0] = {}) {
  const service = await startService({ config, ...options, limits: { ...unlimited, ...options.limits } })
  const { key, userId } = await service.createPerson()
  return { service, key, userId }
}

const read = async (service: TestService, key: string, taskId: string) =>
  (await service.get(`/api/tasks/${taskId}`, key)).body

test.each([
  { where: 'inline', options: {} },
  { where: 'in a thread', options: { configFile } },
])('a task shows its latest progress while it runs and after it ends ($where)', async ({ options }) => {
  const { key, service, userId } = await startWorld(options)
  const files = signalFiles(service.dataDir)
  const { taskId } = (await service.createTask(key, 'tell.steps', files)).body
  await untilBegun(files)
  const second = { fraction: 0.2, message: 'Step 2', data: { step: 2 }, at: time }
  await expect.poll(async () => (await read(service, key, taskId)).progress, soon).toEqual(second)
  // Returns the state that a restart or another node would find.
  const kept = async () => (await service.app.store.getTask({ userId, taskId }))?.progress
  await expect.poll(async () => JSON.parse((await kept()) ?? 'null'), soon).toEqual(second)
  writeFileSync(files.release, '')
  const ended = (await service.get(`/api/tasks/${taskId}?wait=20`, key)).body
  expect(ended).toMatchObject({
    status: 'completed',
    attempt: 1,
    progress: { fraction: 1, message: 'Done', at: time },
  })
  expect(JSON.parse((await kept())!)).toEqual(ended.progress)
  await expectSound(service, key, 'tell.echo')
  await service.stop()
})

test('a failed task keeps its last progress', async () => {
  const { key, service } = await startWorld()
  const task = await service.runTask(key, 'tell.steps', { steps: 1, fails: true })
  expect(task).toMatchObject({ status: 'failed', progress: { fraction: 1, message: 'Done' } })
  await service.stop()
})

test('a million progress reports in a blocking loop become a few messages', async () => {
  const { key, service } = await startWorld({ configFile, limits: { agentThreads: 2 } })
  const { store } = service.app
  let writes = 0
  const noteProgress = store.noteProgress.bind(store)
  store.noteProgress = (notes) => {
    writes += notes.length
    return noteProgress(notes)
  }
  let told = 0
  const { ends } = service.app.services.tasks
  const taskChanged = ends.taskChanged.bind(ends)
  ends.taskChanged = (taskId, change) => {
    if (change === 'progress') told++
    taskChanged(taskId, change)
  }
  const startedAt = performance.now()
  const { taskId } = (await service.createTask(key, 'tell.flood', { times: 1_000_000 })).body
  await expect.poll(() => told, soon).toBeGreaterThan(0)
  expect(await service.runTask(key, 'tell.echo', { while: 'it floods' })).toMatchObject({ status: 'completed' })
  const task = (await service.get(`/api/tasks/${taskId}?wait=60`, key)).body
  const seconds = (performance.now() - startedAt) / 1000
  expect(task).toMatchObject({ status: 'completed', progress: { fraction: 1, data: { at: 1_000_000 } } })
  // At most ten reports per second, plus the first and the last.
  expect(told).toBeLessThanOrEqual(10 * seconds + 2)
  expect(writes).toBeLessThanOrEqual(seconds + 1)
  await expectSound(service, key, 'tell.echo')
  await service.stop()
}, 120_000)

test('invalid progress throws an explanation and the run keeps the previous progress', async () => {
  const { key, service } = await startWorld()
  const { progress, response, status } = await service.runTask(key, 'tell.odd')
  expect(status).toBe('completed')
  expect(response).toEqual({
    'a number': 'progress: the argument must be an object, such as { fraction: 0.5 }',
    'a fraction above 1': 'progress: fraction must be a number from 0 to 1',
    'a fraction that is none': 'progress: fraction must be a number from 0 to 1',
    'a message that is no text': 'progress: message must be a string',
    'a field that it has not': 'progress: unknown field percent. Use only fraction, message and data',
    'a megabyte': expect.stringMatching(/^progress: the argument must be at most 4096 bytes/),
    'a circle': expect.stringMatching(/^progress: data must be valid JSON: /),
    'a bigint': expect.stringMatching(/^progress: data must be valid JSON: /),
    'a function': 'progress: data must be JSON, not a function',
    depths: 'progress: data must have at most 500 levels of nesting',
  })
  expect(progress).toEqual({ message: 'before', at: time })
  await service.stop()
})

test('saves no progress of a short run, and saves it again after a store failure', async () => {
  const { key, service, userId } = await startWorld()
  const { store } = service.app
  let writes = 0
  const noteProgress = store.noteProgress.bind(store)
  store.noteProgress = (notes) => {
    if (++writes === 1) throw new Error('no store')
    return noteProgress(notes)
  }
  await service.runTask(key, 'tell.steps', { steps: 3 })
  expect(writes).toBe(0)
  const files = signalFiles(service.dataDir)
  const { taskId } = (await service.createTask(key, 'tell.steps', { steps: 3, ...files })).body
  const kept = async () => JSON.parse((await store.getTask({ userId, taskId }))?.progress ?? '{}') as object
  await expect.poll(kept, soon).toMatchObject({ message: 'Step 3' })
  expect(writes).toBe(2)
  writeFileSync(files.release, '')
  await service.get(`/api/tasks/${taskId}?wait=20`, key)
  await expectSound(service, key, 'tell.echo')
  await service.stop()
})

test('reports the first progress immediately, then the latest at most ten times a second', async () => {
  const told: string[] = []
  const paced = new PacedProgress((json) => told.push(json))
  for (let at = 0; at < 1000; at++) paced.note(String(at))
  expect(told).toEqual(['0'])
  await expect.poll(() => told, soon).toEqual(['0', '999'])
  paced.note('1000')
  paced.note('999')
  paced.flush()
  // Repeated progress is not reported.
  expect(told).toEqual(['0', '999'])
})

test('a stopped run reports and charges nothing more', async () => {
  const stop = new AbortController()
  const told: string[] = []
  let charged: unknown
  const catalogue = new Catalogue(
    {
      agents: [
        {
          kind: 'code',
          id: 'code',
          name: 'Code',
          endpoints: {
            run: {
              description: 'Goes on.',
              pricing: { events: { page: '1' }, maxUsd: '2' },
              params: {},
              run: ({ charge, progress }) => {
                progress({ message: 'one' })
                stop.abort()
                progress({ message: 'two' })
                try {
                  charge('page')
                } catch (error) {
                  charged = (error as Error).message
                }
              },
            },
          },
        },
      ],
    },
    null,
  )
  const metering = { prices: { page: 10_000 }, cap: 20_000 }
  const about = { endpointId: 'code.run', taskId: 'task_1', userId: 'user_1', timeoutMs: 60_000, connectors: [] }
  await executeTask({
    catalogue,
    request: { ...about, params: '{}', metering },
    signal: stop.signal,
    log: () => {},
    connect: async () => noConnectors,
    onForbidCancel: async () => {},
    onProgress: (json) => told.push(json),
    onWaiting: () => {},
    resultBytesMax: 1000,
  })
  expect(told).toEqual(['{"message":"one"}'])
  expect(charged).toMatch(/the run has ended/)
})
