import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import config from '../../connectors/free-agents.ts'
import { stopAll } from '../../connectors/guarded-server.ts'
import { say, startMcpServer } from '../../connectors/run-http-server.ts'
import { moneyOf } from '../../runner/task-checks.ts'
import { startNodes } from '../start-nodes.ts'

afterEach(stopAll)

test('a connector call at one node prevents cancels at others, and its failure blocks on all nodes', async () => {
  const canceled: number[] = []
  let taskId = ''
  let calls = 0
  const server = await startMcpServer({
    'tools/call': async (response, message) => {
      calls++
      if (taskId) canceled.push((await front.post(`/api/tasks/${taskId}/cancel`, undefined, { key })).status)
      await pause(20)
      say(response, message, 'thanks')
    },
  })
  const shared = { config, privateHosts: [server.host] }
  const limits = { executionsPerMinute: 0, abuseFailures: 0 }
  const { nodes, stop } = await startNodes(
    { ...shared, limits: { ...limits, taskConcurrency: 0 } },
    { ...shared, limits },
    { ...shared, limits },
  )
  const front = nodes[0]!
  const { key } = await front.createPerson()
  const { body } = await front.post('/api/connectors', { name: 'Own', url: server.origin }, { key })
  const task = { endpointId: 'free.answer', params: {}, connectorIds: [body.id] }
  const create = (of: object) => front.post('/api/tasks', { ...task, ...of }, { key })
  const endOf = async (id: string) => (await front.get(`/api/tasks/${id}?wait=40`, key)).body

  ;({ taskId } = (await create({})).body)
  expect(await endOf(taskId)).toMatchObject({ status: 'completed' })
  expect(canceled).toEqual([409])
  expect(await moneyOf(front, key, taskId)).toEqual([['task_charge', '-0.0100']])

  taskId = ''
  calls = 0
  const created = await Promise.all(Array.from({ length: 20 }, () => create({ params: { end: 'throw' } })))
  const ends = await Promise.all(
    created.flatMap((answer) => (answer.status === 200 ? [endOf(answer.body.taskId)] : [])),
  )
  const codes = ends.map(({ error }) => error.code)
  expect(codes.filter((code) => code !== 'CONNECTORS_BLOCKED')).toEqual(['AGENT_ERROR'])
  expect(calls).toBe(1)
  for (const node of nodes) {
    expect(await node.post('/api/tasks', task, { key })).toMatchObject({
      status: 403,
      body: { code: 'ACCOUNT_BLOCKED' },
    })
  }
  expect((await front.app.store.verifyLedger()).differences).toEqual([])
  await stop()
})
