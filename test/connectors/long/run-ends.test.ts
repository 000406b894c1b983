import { secretSetting } from '../../../server/store/access/secret-check.ts'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { expectOneEnd, filesIn } from '../../chat/chat-checks.ts'
import { expectSentence } from '../../models/model-checks.ts'
import { moneyOf, refundedOnce, soon } from '../../runner/task-checks.ts'
import { ofTier } from '../../run/tiers.ts'
import { queryRows } from '../../support/test-engine.ts'
import { newDataDir } from '../../support/test-service.ts'
import {
  completeTask,
  connect,
  createTask,
  endOf,
  expectPaidFor,
  expectSound,
  expectTaskFailed,
  expectToldOnly,
  serverPids,
  startWorld,
  talkWith,
  untilServers,
  type World,
} from '../run-checks.ts'
import { startEverything } from '../run-http-server.ts'

// Runs or servers that end during a tool call.

const long = [{ name: 'trigger-long-running-operation', args: { duration: 60, steps: 1 } }]
const agents = ['code', 'model']
const places = ofTier([{ inThreads: true }], [{ inThreads: false }, { inThreads: true }])

const readWords = (file: string) => (existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [])

test.for(places)(
  'a server killed during a call fails only its own run, in threads: $inThreads',
  async ({ inThreads }) => {
    const world = await startWorld({ inThreads })
    for (const agentId of agents) {
      const person = await world.service.createPerson()
      const connectorIds = [await connect(world, person, { name: 'Killed', server: 'everything' })]
      const talker = await talkWith(world, { agentId, connectorIds, person })
      const reader = await talker.open(JSON.stringify(long))
      await reader.until('tool_call')
      const [pid] = await untilServers(1)

      const another = await world.service.createPerson()
      const besideIds = [await connect(world, another, { server: 'everything' })]
      const other = await talkWith(world, { agentId, connectorIds: besideIds, person: another })
      const beside = await other.open(JSON.stringify([{ ...long[0], args: { duration: 0.5, steps: 1 } }]))
      await beside.until('tool_call')
      process.kill(pid!, 'SIGKILL')

      const end = expectOneEnd(await reader.all(), 'error')
      expect(end).toMatchObject({ error: { code: 'AGENT_ERROR' } })
      expect(end.error.message).toMatch(
        /^Connector "Killed": .* was ended by SIGKILL before it responded\. Check the server's log\.$/,
      )
      expectSentence(end.error.message)
      await expectPaidFor(talker, end)
      expectOneEnd(await beside.all(), 'done')
      await expectSound(world)
    }
    await world.stop()
  },
)

test('killing an HTTP server during a call fails chats and is reported to tasks', async () => {
  const http = await startEverything()
  const world = await startWorld({ privateHosts: [http.host] })
  const person = await world.service.createPerson()
  const connectorIds = [await connect(world, person, { name: 'Killed', url: http.url })]
  const talkers = await Promise.all(agents.map((agentId) => talkWith(world, { agentId, connectorIds, person })))
  const readers = await Promise.all(talkers.map((talker) => talker.open(JSON.stringify(long))))
  const file = filesIn(world.service)('words')
  const params = { calls: long, file }
  const taskId = await createTask(world, person, { endpointId: 'code.call', params, connectorIds })
  await Promise.all(readers.map((reader) => reader.until('tool_call')))
  await expect.poll(() => readWords(file), soon).toEqual(['begun'])
  await http.stop()
  const message = /^Connector "Killed": The connector closed the connection .*response.*\.$/
  await expectToldOnly(world, person, { taskId, message })
  for (const [n, reader] of readers.entries()) {
    const error = { code: 'AGENT_ERROR', message: expect.stringMatching(message) }
    const end = expectOneEnd(await reader.all(), 'error')
    expect(end).toMatchObject({ error })
    await expectPaidFor(talkers[n]!, end)
  }
  await expectSound(world)
  await world.stop()
})

test.for(places)(
  'a chat whose client leaves during a call is charged once, in threads: $inThreads',
  async ({ inThreads }) => {
    const world = await startWorld({ inThreads })
    const leaving = agents.map(async (agentId) => {
      const person = await world.service.createPerson()
      const connectorIds = [await connect(world, person, { server: 'everything' })]
      const talker = await talkWith(world, { agentId, connectorIds, person })
      const reader = await talker.open(JSON.stringify(long))
      await reader.until('tool_call')
      reader.leave()
      await talker.settled()
      expect((await talker.charges()).map(({ breakdown }) => breakdown.toolCalls)).toEqual([1])
    })
    await Promise.all(leaving)
    await expectSound(world)
    await world.stop()
  },
)

test.for(places)('a chat whose client leaves while a server starts is free, in threads: $inThreads', async (place) => {
  const world = await startWorld(place)
  const person = await world.service.createPerson()
  const connectorIds = [await connect(world, person, { server: 'no-answer' })]
  const talker = await talkWith(world, { agentId: 'model', connectorIds, person })
  const before = await talker.state()
  const reader = await talker.open('[]')
  await untilServers(1)
  reader.leave()
  await talker.settled()
  expect(await talker.state()).toEqual(before)
  await expectSound(world)
  await world.stop()
})

test.for(places)(
  'connector calls may last as long as the endpoint; a silent connector times out, in threads: $inThreads',
  async ({ inThreads }) => {
    const world = await startWorld({ inThreads })
    const person = await world.service.createPerson()
    const wellIds = [await connect(world, person, { server: 'everything' })]
    const silentIds = [await connect(world, person, { server: 'no-answer' })]
    // Runs each agent once before. Loading code for an agent's first run could keep a busy thread from responding,
    // which would end all of its runs.
    for (const agentId of agents) {
      await completeTask(world, person, { endpointId: `${agentId}.call`, params: {}, connectorIds: wellIds })
    }
    const tasks = [
      { endpointId: 'code.brief', params: { calls: long }, connectorIds: wellIds },
      { endpointId: 'model.brief', params: { calls: long }, connectorIds: wellIds },
      { endpointId: 'code.brief', params: {}, connectorIds: silentIds },
    ].map(async (task) => {
      const taskId = await createTask(world, person, task)
      if (task.connectorIds === wellIds) {
        const message =
          /^The connectors in this run took 5 seconds in total, the maximum\. Run a task with fewer tool calls\.$/
        return await expectToldOnly(world, person, { taskId, message })
      }
      expect(await endOf(world, person, taskId)).toMatchObject({ status: 'failed', error: { code: 'AGENT_TIMEOUT' } })
      expect(await moneyOf(world.service, person.key, taskId)).toEqual(refundedOnce)
    })
    await Promise.all(tasks)
    await expectSound(world)
    await world.stop()
  },
)

test("ending a blocked thread also ends its runs' servers and their children", async () => {
  const world = await startWorld({ inThreads: true, limits: { agentThreads: 2 } })
  const person = await world.service.createPerson()
  const connectorIds = [await connect(world, person, { server: 'serve' })]
  const file = filesIn(world.service)('words')
  const params = { calls: [{ name: 'spawn' }], file, blockMs: 20_000 }
  const taskId = await createTask(world, person, { endpointId: 'code.block', params, connectorIds })
  await expect.poll(() => readWords(file), soon).toEqual(['begun', 'blocked'])
  expect(serverPids()).toHaveLength(2)
  const sum = { endpointId: 'code.call', params: { calls: [{ name: 'fail' }] }, connectorIds }
  await completeTask(world, person, sum)
  const blocked = await endOf(world, person, taskId)
  expect(blocked).toMatchObject({ status: 'failed', error: { code: 'AGENT_TIMEOUT' } })
  expect(blocked.connectorMs).toBeGreaterThan(0)
  expect(await moneyOf(world.service, person.key, taskId)).toEqual(refundedOnce)
  await expectSound(world)
  await world.stop()
})

test.for(ofTier([true], [false, true]))(
  'a stopping service leaves no server process behind, in threads: %s',
  async (inThreads) => {
    const dataDir = newDataDir()
    const first = await startWorld({ inThreads, dataDir, limits: { drainSeconds: 0 } })
    const person = await first.service.createPerson()
    const connectorIds = [await connect(first, person, { server: 'serve' })]
    const file = filesIn(first.service)('words')
    const params = { calls: [{ name: 'spawn' }, { name: 'hang' }], file }
    const taskId = await createTask(first, person, { endpointId: 'code.call', params, connectorIds })
    const talker = await talkWith(first, { agentId: 'code', connectorIds, person })
    const reader = await talker.open(JSON.stringify(params.calls))
    await reader.until('tool_result')
    await untilServers(4)
    await first.stop()
    const error = { code: 'AGENT_INTERRUPTED' }
    expect(expectOneEnd(await reader.all(), 'error')).toMatchObject({ costUsd: '0.0000', error })

    const second = await startWorld({ inThreads, dataDir })
    expect(await endOf(second, person, taskId)).toMatchObject({ status: 'failed', error })
    expect(await moneyOf(second.service, person.key, taskId)).toEqual(refundedOnce)
    await expectSound(second)
    await second.stop()
    rmSync(dataDir, { recursive: true })
  },
)

/** Starts a service with one slot, a task that runs until released, and a queued task that uses that connector. */
async function queue(world: World, auth: object = { type: 'none' }) {
  const person = await world.service.createPerson()
  const waitedFor = await connect(world, person, { name: 'Waited for', server: 'keyed', auth })
  const file = join(world.service.dataDir, 'go')
  const first = await createTask(world, person, { endpointId: 'code.wait', params: { file }, connectorIds: [] })
  const status = async () => (await world.service.get(`/api/tasks/${first}`, person.key)).body.status
  // Waits for the start of the task. Otherwise the next start of the service would run it and wait forever.
  await expect.poll(status, soon).toBe('processing')
  const taskId = await createTask(world, person, { endpointId: 'code.call', params: {}, connectorIds: [waitedFor] })
  return { person, taskId, waitedFor, letGo: () => writeFileSync(file, '') }
}

test('a task whose connector is deleted before it runs fails and is refunded', async () => {
  const world = await startWorld({ limits: { taskConcurrency: 1 } })
  const { letGo, person, taskId, waitedFor } = await queue(world)
  const { status } = await world.service.request('DELETE', `/api/connectors/${waitedFor}`, { key: person.key })
  expect(status).toBe(200)
  letGo()
  await expectTaskFailed(world, person, {
    taskId,
    message: /^Connector "con_\w+": The connector was deleted\. Run without it\.$/,
  })
  await expectSound(world)
  await world.stop()
})

test('runs whose secrets cannot be decrypted fail with an error that says so', async () => {
  const dataDir = newDataDir()
  const first = await startWorld({ dataDir, limits: { taskConcurrency: 1, drainSeconds: 0 } })
  const { person, taskId, waitedFor } = await queue(first, { type: 'bearer', token: 'users-token-8a7b6c5d' })
  await first.stop()
  // A start with another secret is rejected while one is recorded.
  await queryRows(dataDir, `DELETE FROM settings WHERE name = '${secretSetting}'`)

  const second = await startWorld({
    dataDir,
    secrets: () => ({ current: 'another secret of the tests', previous: [] }),
  })
  const message = /^Connector "Waited for": The stored secrets can no longer be decrypted. Enter them again\.$/
  await expectTaskFailed(second, person, { taskId, message })
  const talker = await talkWith(second, { agentId: 'code', connectorIds: [waitedFor], person })
  const end = expectOneEnd(await talker.chat('[]'), 'error')
  expect(end).toMatchObject({ costUsd: '0.0000', error: { message: expect.stringMatching(message) } })
  await expectSound(second)
  await second.stop()
  rmSync(dataDir, { recursive: true })
})
