import { writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { must } from '../../../server/kernel/assert.ts'
import { TaskEnds } from '../../../server/tasks/task-ends.ts'
import rogueAgents from '../../runner/rogue-agents.ts'
import { signalFiles, soon, unlimited, untilBegun } from '../../runner/task-checks.ts'
import { startDeafProxy } from '../deaf-proxy.ts'
import type { TestService } from '../../support/test-service.ts'
import { startNodes } from '../start-nodes.ts'

const config = rogueAgents
/** Options of a node that accepts requests but runs no tasks. */
const front = { config, limits: { ...unlimited, taskConcurrency: 0 } }
const back = { config, limits: unlimited }

/** Waits for a task to end, using signals only (no polling). */
async function waitUntilTold({ app: { store } }: TestService, of: { userId: string; taskId: string }): Promise<void> {
  const ends = new TaskEnds(must(store.shared, 'nodes share the store').signals, 3_600_000)
  const wait = ends.wait(of, { timeoutMs: 60_000, signal: undefined })
  do await wait.change()
  while ((await store.getTask(of))?.completedAt === null)
  expect(wait.isOver).toBe(false)
  wait.cancel()
}

test('a long poll at one node returns when another node ends the task', async () => {
  const { nodes, stop } = await startNodes(front, back)
  const [asked, worker] = nodes as [(typeof nodes)[0], (typeof nodes)[0]]
  const { key, userId } = await asked.createPerson()
  const files = signalFiles(worker.dataDir)
  const { taskId } = (await asked.createTask(key, 'rogue.hold', files)).body
  await untilBegun(files)
  const answer = asked.get(`/api/tasks/${taskId}?wait=60`, key)
  const patient = waitUntilTold(asked, { userId, taskId })
  writeFileSync(files.release, '')
  await patient
  expect((await answer).body).toMatchObject({ status: 'completed', response: {} })
  const failed = await asked.runTask(key, 'rogue.throw', { what: 'error' })
  expect(failed).toMatchObject({ status: 'failed', error: { code: 'AGENT_ERROR' } })
  await stop()
})

test('a node without signals warns once, and still answers long polls and runs queued tasks', async () => {
  const warnings: string[] = []
  const log = {
    debug() {},
    info() {},
    warn: (_fields: object, message: string) => void warnings.push(message),
    error() {},
  }
  const { databaseUrl, nodes, start, stop } = await startNodes(back)
  const proxy = await startDeafProxy(databaseUrl)
  const deaf = await start({ ...front, databaseUrl: proxy.url, log })
  const { key, userId } = await deaf.createPerson()
  await expect.poll(() => warnings, soon).toEqual([expect.stringMatching(/notifications .* do not arrive/)])
  const files = signalFiles(nodes[0]!.dataDir)
  const { taskId } = (await deaf.createTask(key, 'rogue.hold', files)).body
  await untilBegun(files)
  const answer = deaf.get(`/api/tasks/${taskId}?wait=60`, key)
  const patient = waitUntilTold(deaf, { userId, taskId })
  writeFileSync(files.release, '')
  await patient
  expect((await answer).body).toMatchObject({ status: 'completed', response: {} })
  await stop()
  expect(warnings).toHaveLength(1)
  await proxy.stop()
})
