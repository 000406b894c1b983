import { expect, test } from 'vitest'
import { cancelAgents } from '../runner/cancel-agents.ts'
import { moneyOf, refundedOnce, soon, unlimited } from '../runner/task-checks.ts'
import { startNodes } from './start-nodes.ts'

test('a task canceled at one node stops on its worker, and a long poll at a third node returns', async () => {
  const { config, watched } = cancelAgents()
  const front = { config, limits: { ...unlimited, taskConcurrency: 0 } }
  const { nodes, stop } = await startNodes(front, { config, limits: unlimited }, front)
  const [asked, , waiting] = nodes
  const { key } = await asked!.createPerson()
  const { taskId } = (await asked!.createTask(key, 'work.retried')).body
  await expect.poll(() => watched.atWork.has(taskId), soon).toBe(true)
  const told = waiting!.get(`/api/tasks/${taskId}?wait=60`, key)
  const answers = await Promise.all(nodes.map((node) => node.post(`/api/tasks/${taskId}/cancel`, undefined, { key })))
  for (const { body } of answers) expect(body).toMatchObject({ status: 'failed', error: { code: 'CANCELED' } })
  expect((await told).body).toEqual(answers[0]!.body)
  await expect.poll(() => watched.stopped.has(taskId), soon).toBe(true)
  expect(watched.atWork.size).toBe(0)
  expect(await moneyOf(asked!, key, taskId)).toEqual(refundedOnce)
  expect((await asked!.get(`/api/tasks/${taskId}`, key)).body).toEqual(answers[0]!.body)
  await stop()
})

test('lease renewal stops the agent of a canceled task if no signal arrives', async () => {
  const { config, watched } = cancelAgents()
  const { nodes, stop } = await startNodes(
    { config, limits: { ...unlimited, taskConcurrency: 0 } },
    { config, limits: { ...unlimited, leaseSeconds: 2 } },
  )
  const [asked, worker] = nodes
  const { key, userId } = await asked!.createPerson()
  const { taskId } = (await asked!.createTask(key, 'work.slow')).body
  await expect.poll(() => watched.atWork.has(taskId), soon).toBe(true)
  // Simulates a node that dies before it sends its signal.
  const error = { code: 'CANCELED', message: 'Canceled.', details: '' }
  await asked!.app.store.cancelTask({ userId, taskId, error, mayStopWork: true })
  await expect.poll(() => watched.stopped.has(taskId), soon).toBe(true)
  expect(await moneyOf(worker!, key, taskId)).toEqual(refundedOnce)
  await stop()
})
