import { hostname } from 'node:os'
import { expect, test } from 'vitest'
import { packageVersion } from '../../server/kernel/package-version.ts'
import { heldRuns, people } from '../runner/held-runs.ts'
import { soon, unlimited } from '../runner/task-checks.ts'
import { startNodes } from './start-nodes.ts'

test('each node lists all nodes with their running tasks and heartbeats, and no stopped node', async () => {
  const { config, endOne, running } = heldRuns()
  // Renewals every half second.
  const options = { config, limits: { ...unlimited, taskConcurrency: 2, leaseSeconds: 2 } }
  const { nodes, stop } = await startNodes(options, options)
  const [first, second] = nodes as [(typeof nodes)[0], (typeof nodes)[0]]
  const list = () => first.app.store.listNodes()
  const node = { host: hostname(), pid: process.pid, version: packageVersion, runningTasks: 0, openTurns: 0 }
  await expect.poll(list, soon).toMatchObject([node, node])
  const { submit } = await people(first)
  for (let n = 0; n < 4; n++) await submit('other')
  await expect.poll(list, soon).toMatchObject([{ runningTasks: 2 }, { runningTasks: 2 }])
  await expect.poll(() => running.length, soon).toBe(4)
  const before = (await list())[0]!
  expect(before.startedAt).toBeLessThanOrEqual(before.seenAt)
  await expect.poll(async () => (await list())[0]!.seenAt, soon).toBeGreaterThan(before.seenAt)
  for (let n = 0; n < 4; n++) endOne('other')
  await expect.poll(list, soon).toMatchObject([node, node])
  await second.stop()
  await expect.poll(list, soon).toMatchObject([node])
  await stop()
})
