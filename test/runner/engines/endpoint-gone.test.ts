import { rmSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { newDataDir, startService } from '../../support/test-service.ts'
import rogueAgents from '../rogue-agents.ts'
import { expectSound, moneyOf, refundedOnce, signalFiles, unlimited, untilBegun } from '../task-checks.ts'

test('a pending task whose endpoint was removed fails with AGENT_UNAVAILABLE and is refunded', async () => {
  const dataDir = newDataDir()
  const limits = { ...unlimited, taskConcurrency: 1 }
  const service = await startService({ config: rogueAgents, dataDir, limits })
  const { key } = await service.createPerson()
  const files = signalFiles(dataDir)
  await service.createTask(key, 'rogue.hold', files)
  await untilBegun(files)
  const { body: gone } = await service.createTask(key, 'rogue.thread')
  const { body: kept } = await service.createTask(key, 'rogue.echo', { kept: true })
  const stopped = service.stop()
  writeFileSync(files.release, '')
  await stopped

  const [agent] = rogueAgents.agents
  if (agent?.kind !== 'code') throw new Error('the agent is code')
  const { thread: _, ...endpoints } = agent.endpoints
  const restarted = await startService({ config: { agents: [{ ...agent, endpoints }] }, dataDir, limits })
  const { body: task } = await restarted.get(`/api/tasks/${gone.taskId}?wait=20`, key)
  expect(task).toMatchObject({
    status: 'failed',
    endpointId: 'rogue.thread',
    response: null,
    error: {
      code: 'AGENT_UNAVAILABLE',
      message: 'The endpoint rogue.thread is no longer available. GET /api/agents lists the available endpoints.',
      details: '',
    },
    startedAt: expect.any(String),
    completedAt: expect.any(String),
  })
  expect(await moneyOf(restarted, key, gone.taskId)).toEqual(refundedOnce)
  expect((await restarted.createTask(key, 'rogue.thread')).status).toBe(404)
  expect((await restarted.get(`/api/tasks/${kept.taskId}?wait=20`, key)).body.status).toBe('completed')
  await expectSound(restarted, key)
  await restarted.stop()
  rmSync(dataDir, { recursive: true })
})
