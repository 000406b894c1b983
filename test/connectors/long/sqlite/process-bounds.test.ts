import { writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { filesIn } from '../../../chat/chat-checks.ts'
import { moneyOf, refundedOnce } from '../../../runner/task-checks.ts'
import {
  completeTask,
  connect,
  createTask,
  endOf,
  expectSound,
  expectTaskFailed,
  serverPids,
  startWorld,
  untilServers,
  type World,
} from '../../run-checks.ts'

// The number of server processes that users' runs may start.

type Owner = Parameters<typeof connect>[1]

/** Creates connectors to one server with different tokens, so that each needs its own process. */
const tokens = (world: World, person: Owner, count: number) =>
  Promise.all(
    Array.from({ length: count }, (_, n) =>
      connect(world, person, { server: 'leaky', auth: { type: 'bearer', token: `users-token-${n}` } }),
    ),
  )

test.for([false, true])(
  'connectors of a run to the same server share one process, in threads: %s',
  async (inThreads) => {
    const world = await startWorld({ inThreads })
    const person = await world.service.createPerson()
    const connectorIds: string[] = []
    for (let n = 0; n < 20; n++) {
      const allowedTools = n === 0 ? ['fail'] : ['count', 'hang']
      connectorIds.push(await connect(world, person, { name: `C${n}`, server: 'serve', allowedTools }))
    }
    const file = filesIn(world.service)('go')
    const taskId = await createTask(world, person, { endpointId: 'code.wait', params: { file }, connectorIds })
    await untilServers(1)
    writeFileSync(file, '')
    expect((await endOf(world, person, taskId)).status).toBe('completed')
    const { answers, tools } = await completeTask(world, person, {
      endpointId: 'code.call',
      params: { calls: [{ name: 'fail' }, { name: 'C19_count' }] },
      connectorIds,
    })
    expect(answers.map(({ text }: { text: string }) => text)).toEqual(['The file is not there.', 'A number.'])
    const names = [...tools].map(({ connectorName, name }: any) => `${connectorName} ${name}`)
    expect(names.slice(0, 3)).toEqual(['C0 fail', 'C1 C1_hang', 'C1 C1_count'])
    expect(names).toHaveLength(1 + 2 * 19)
    await expectSound(world)
    await world.stop()
  },
)

test.for([false, true])(
  'limits processes per run and per user with a clear error, in threads: %s',
  async (inThreads) => {
    const limits = { maxConnectorProcesses: 5, maxConnectorProcessesPerUser: 3 }
    const world = await startWorld({ inThreads, limits })
    const person = await world.service.createPerson()
    const ids = await tokens(world, person, 4)
    const task = (connectorIds: string[], params = {}) =>
      createTask(world, person, { endpointId: 'code.call', params, connectorIds })
    await expectTaskFailed(world, person, {
      taskId: await task(ids),
      message:
        /^Connector "Connector \d+": A run can start at most 3 servers, but these connectors need 4\. Select fewer connectors\.$/,
    })
    const file = filesIn(world.service)('go')
    const held = await createTask(world, person, {
      endpointId: 'code.wait',
      params: { file },
      connectorIds: ids.slice(0, 2),
    })
    await untilServers(2)
    const refused = await createTask(world, person, {
      endpointId: 'code.brief',
      params: {},
      connectorIds: ids.slice(2),
    })
    // Another user has a separate share. Latecomers get slots when the first user gives up.
    const other = await world.service.createPerson()
    const [theirs] = await tokens(world, other, 1)
    for (const [owner, connectorId] of [
      [person, ids[3]!],
      [other, theirs!],
    ] as const) {
      const params = { calls: [{ name: 'fail' }] }
      await completeTask(world, owner, { endpointId: 'code.call', params, connectorIds: [connectorId] })
    }
    const error = {
      code: 'AGENT_INTERRUPTED',
      message: expect.stringMatching(
        /: The server could not be started, because the service runs at most 3 servers per account and 5 in total\. /,
      ),
    }
    expect(await endOf(world, person, refused)).toMatchObject({ status: 'failed', error })
    expect(await moneyOf(world.service, person.key, refused)).toEqual(refundedOnce)
    expect(serverPids().length).toBeLessThanOrEqual(3)
    writeFileSync(file, '')
    expect((await endOf(world, person, held)).status).toBe('completed')
    // All slots are free again.
    await completeTask(world, person, { endpointId: 'code.call', params: {}, connectorIds: ids.slice(0, 3) })
    await expectSound(world)
    await world.stop()
  },
)

test('one user gets half the slots, others an eighth; running out of slots does not count as a failure', async () => {
  const world = await startWorld({ limits: { maxConnectorProcesses: 20, abuseFailures: 1 } })
  const [person, other] = [await world.service.createPerson(), await world.service.createPerson()]
  const [id] = await tokens(world, person, 1)
  const file = filesIn(world.service)('go')
  const hold = (owner: Owner, connectorIds: string[], count: number) =>
    Promise.all(
      Array.from({ length: count }, () =>
        createTask(world, owner, { endpointId: 'code.wait', params: { file }, connectorIds }),
      ),
    )
  const held = await hold(person, [id!], 10)
  await untilServers(10)
  const theirs = await tokens(world, other, 1)
  const heldByOther = await hold(other, theirs, 2)
  await untilServers(12)
  for (let round = 0; round < 2; round++) {
    const late = await createTask(world, other, { endpointId: 'code.brief', params: {}, connectorIds: theirs })
    expect(await endOf(world, other, late)).toMatchObject({ error: { code: 'AGENT_INTERRUPTED' } })
    expect(await moneyOf(world.service, other.key, late)).toEqual(refundedOnce)
  }
  const waits = await createTask(world, other, { endpointId: 'code.call', params: {}, connectorIds: theirs })
  writeFileSync(file, '')
  for (const taskId of held) expect((await endOf(world, person, taskId)).status).toBe('completed')
  for (const taskId of [...heldByOther, waits]) expect((await endOf(world, other, taskId)).status).toBe('completed')
  await expectSound(world)
  await world.stop()
})
