import { writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { UserPlaces } from '../../server/kernel/user-places.ts'
import { filesIn } from '../chat/chat-checks.ts'
import { moneyOf, refundedOnce } from '../runner/task-checks.ts'
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
} from './run-checks.ts'

// How many processes of the operator's servers users' runs may start.

type Owner = Parameters<typeof connect>[1]

/** Connectors to one server, each with a token of its own, so that each needs a process of its own. */
const tokens = (world: World, person: Owner, count: number) =>
  Promise.all(
    Array.from({ length: count }, (_, n) =>
      connect(world, person, { server: 'leaky', auth: { type: 'bearer', token: `users-token-${n}` } }),
    ),
  )

test.for([false, true])('connectors of a run to one server share its process, in threads: %s', async (inThreads) => {
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
})

test.for([false, true])(
  'a user has so many processes at a time, over all runs; more are refused in words, in threads: %s',
  async (inThreads) => {
    const limits = { maxConnectorProcesses: 5, maxConnectorProcessesPerUser: 3 }
    const world = await startWorld({ inThreads, limits })
    const person = await world.service.createPerson()
    const ids = await tokens(world, person, 4)
    const task = (connectorIds: string[], params = {}) =>
      createTask(world, person, { endpointId: 'code.call', params, connectorIds })
    await expectTaskFailed(world, person, {
      taskId: await task(ids),
      message: /^Connector "Connector \d+": A run may start 3 servers, and these connectors need 4\.$/,
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
    // Another user has places of their own, and who comes later has what is left when the first has given up.
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
        /: There is no room for its server: the service runs 3 servers at a time for an account, and 5 for all\. /,
      ),
    }
    expect(await endOf(world, person, refused)).toMatchObject({ status: 'failed', error })
    expect(await moneyOf(world.service, person.key, refused)).toEqual(refundedOnce)
    expect(serverPids().length).toBeLessThanOrEqual(3)
    writeFileSync(file, '')
    expect((await endOf(world, person, held)).status).toBe('completed')
    // All places are free again.
    await completeTask(world, person, { endpointId: 'code.call', params: {}, connectorIds: ids.slice(0, 3) })
    await expectSound(world)
    await world.stop()
  },
)

test('ten tasks in a minute find room, and those of a user who find none are not counted as failures', async () => {
  const world = await startWorld({ limits: { maxConnectorProcesses: 10, abuseFailures: 1 } })
  const [person, other] = [await world.service.createPerson(), await world.service.createPerson()]
  const [id] = await tokens(world, person, 1)
  const file = filesIn(world.service)('go')
  const held = await Promise.all(
    Array.from({ length: 10 }, () =>
      createTask(world, person, { endpointId: 'code.wait', params: { file }, connectorIds: [id!] }),
    ),
  )
  await untilServers(10)
  const theirs = await tokens(world, other, 1)
  for (let round = 0; round < 2; round++) {
    const late = await createTask(world, other, { endpointId: 'code.brief', params: {}, connectorIds: theirs })
    expect(await endOf(world, other, late)).toMatchObject({ error: { code: 'AGENT_INTERRUPTED' } })
    expect(await moneyOf(world.service, other.key, late)).toEqual(refundedOnce)
  }
  const waits = await createTask(world, other, { endpointId: 'code.call', params: {}, connectorIds: theirs })
  writeFileSync(file, '')
  for (const taskId of held) expect((await endOf(world, person, taskId)).status).toBe('completed')
  expect((await endOf(world, other, waits)).status).toBe('completed')
  await expectSound(world)
  await world.stop()
})

test('who waits for several places is not overtaken by those of the same user, and holds up nobody else', async () => {
  const places = new UserPlaces({ perUserMax: 3, max: 4 })
  const { signal } = new AbortController()
  const entered: string[] = []
  const take = (userId: string, name: string, count = 1, until = signal) =>
    places.take(userId, { count, signal: until }).then(
      () => entered.push(name),
      () => entered.push(`${name} left`),
    )
  const gave = async () => {
    await new Promise(setImmediate)
    return entered.splice(0)
  }
  await take('one', 'first', 2)
  const leaver = new AbortController()
  void take('one', 'three', 3, leaver.signal)
  void take('one', 'behind')
  void take('two', 'other')
  expect(await gave()).toEqual(['first', 'other'])
  places.give('one')
  expect(await gave()).toEqual([])
  leaver.abort()
  expect((await gave()).toSorted()).toEqual(['behind', 'three left'])
})

test('a user with many that wait comes no sooner than one with a single one, and each in the order that it came', async () => {
  const places = new UserPlaces({ perUserMax: 3, max: 4 })
  const { signal } = new AbortController()
  const entered: string[] = []
  const take = (userId: string, name: string, count = 1) =>
    void places.take(userId, { count, signal }).then(() => entered.push(name))
  const gave = async (userId: string) => {
    places.give(userId)
    await new Promise(setImmediate)
    return entered.splice(0)
  }
  for (const userId of ['one', 'one', 'two', 'two']) await places.take(userId, { signal })
  for (let n = 1; n <= 10; n++) take('greedy', `greedy ${n}`)
  take('honest', 'honest 1')
  take('honest', 'honest 2')
  take('last', 'last')
  expect(await gave('one')).toEqual(['greedy 1'])
  expect(await gave('one')).toEqual(['honest 1'])
  expect(await gave('two')).toEqual(['last'])
  expect(await gave('two')).toEqual(['greedy 2'])
  expect(await gave('last')).toEqual(['honest 2'])
  expect(await gave('honest')).toEqual(['greedy 3'])
  expect(await gave('honest')).toEqual([])
  expect(await gave('greedy')).toEqual(['greedy 4'])
})

test('who is stopped in the moment of entering has the place, and the others who wait keep theirs', async () => {
  const places = new UserPlaces({ perUserMax: 1 })
  const [first, second] = [new AbortController(), new AbortController()]
  await places.take('one', { signal: first.signal })
  const waits = [first, second].map(({ signal }) => places.take('one', { signal }))
  places.give('one')
  first.abort()
  await waits[0]
  places.give('one')
  await waits[1]
  places.give('one')
})
