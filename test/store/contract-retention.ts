import { expect } from 'vitest'
import { newId } from '../../server/kernel/ids.ts'
import { draftTurn, finished, opened } from './session-contract.ts'
import type { ContractTest } from './store-contract.ts'
import type { StoreWorld } from './store-world.ts'

const dayMs = 86_400_000
const all = { limit: 1000, offset: 0 }
const limits = { retention: { tasksMs: 30 * dayMs, sessionsMs: 30 * dayMs } }

async function pruneAll({ store }: StoreWorld): Promise<void> {
  for (let step = 0; await store.prune(); step++) if (step > 100) throw new Error('The pruning does not end.')
}

const payload = (world: StoreWorld) => ({
  text: '{"text":"a pre',
  payloadId: newId('pay', world.clock.now()),
  digest: { bytes: 20_000, sha256: 'abc' },
})

export function describeRetention(contractTest: ContractTest): void {
  contractTest(
    'deletes the contents of old tasks, and keeps their money, times, usage and tags',
    async (world) => {
      const userId = await world.createListener()
      const meters = { page: 1 }
      const tags = { order: '7' }
      const large = await world.processing(userId, { meters, tags, request: payload(world) })
      await world.store.noteProgress([{ taskId: large.id, attempt: 1, progress: '{"message":"half"}' }])
      const done = {
        taskId: large.id,
        attempt: 1,
        response: payload(world),
        usage: { page: 3 },
        providerCost: 7,
        runLog: '{"log":1}',
      }
      expect(await world.store.completeTask(done)).toBe(true)
      const failed = await world.failed(userId)
      const before = await world.everything(userId)
      const [, largeBefore] = before.tasks
      expect(largeBefore).toMatchObject({ progress: '{"message":"half"}', runLog: '{"log":1}' })
      expect(await world.store.listPayloads({ afterId: '', limit: 9 })).toHaveLength(2)

      world.clock.advance(30 * dayMs - 1)
      await pruneAll(world)
      expect((await world.everything(userId)).tasks).toEqual(before.tasks)
      world.clock.advance(1)
      const prunedAt = world.clock.now()
      await pruneAll(world)
      const after = await world.everything(userId)
      const request = { text: '{}', payloadId: null }
      const contents = { request, response: null, progress: null, runLog: null, prunedAt }
      expect(after.tasks).toEqual([
        { ...failed, ...contents, error: { code: failed.error!.code, message: '', details: '' } },
        { ...largeBefore, ...contents },
      ])
      expect(after.tasks[1]).toMatchObject({ cost: 3, givenBack: 97, usage: { page: 3 }, meters, tags })
      expect({ ...after, tasks: 0, rate: 0 }).toEqual({ ...before, tasks: 0, rate: 0 })
      expect(await world.store.listPayloads({ afterId: '', limit: 9 })).toEqual([])
      const { tasks } = await world.store.listTasks({ userId, ...all, withPreview: true })
      expect(tasks).toMatchObject([
        { preview: '{}', errorMessage: null },
        { preview: '{}', tags },
      ])
    },
    { limits },
  )

  contractTest(
    'prunes in small steps, resumes after a restart, and stops at an open task until it has ended',
    async (world) => {
      const userId = await world.createUser(1_000_000)
      const ended: string[] = []
      for (let n = 0; n < 70; n++) ended.push((await world.completed(userId)).id)
      const open = await world.processing(userId)
      const last = await world.completed(userId)
      const pruned = async () => {
        const records = await Promise.all([...ended, last.id].map((id) => world.read(userId, id)))
        return records.filter(({ prunedAt }) => prunedAt !== null).length
      }
      world.clock.advance(31 * dayMs)
      expect(await world.store.prune()).toBe(true)
      const first = await pruned()
      expect(first).toBeLessThan(70)
      expect(first).toBeGreaterThan(0)
      await world.reopen()
      await pruneAll(world)
      expect(await pruned()).toBe(70)
      const response = { text: '{}', payloadId: null }
      expect(await world.store.completeTask({ taskId: open.id, attempt: open.attempt, response })).toBe(true)
      await pruneAll(world)
      expect(await pruned()).toBe(70)
      world.clock.advance(31 * dayMs)
      await pruneAll(world)
      expect(await pruned()).toBe(71)
    },
    { limits },
  )

  contractTest(
    'deletes idle sessions with their messages, and keeps their turns, charges and open turns',
    async (world) => {
      const userId = await world.createUser()
      // More open turns than sessions are pruned in one step.
      const busy: string[] = []
      for (let n = 0; n < 6; n++) {
        const session = await opened(world, userId)
        busy.unshift(session.id)
        expect(await world.store.openTurn(draftTurn(world, session))).toMatchObject({ outcome: 'opened' })
      }
      const old = await opened(world, userId)
      const { digest, payloadId: id } = payload(world)
      const file = { id, digest, mediaType: 'image/png', filename: null, tokens: 1 }
      const turn = { ...draftTurn(world, old), files: [file] }
      expect(await world.store.openTurn(turn)).toMatchObject({ outcome: 'opened' })
      await world.store.settleTurn(finished(turn.turnId, 'hello'))
      expect(await world.store.findPayload(id)).toBeDefined()
      const continued: string[] = []
      for (let n = 0; n < 12; n++) continued.push((await opened(world, userId, { continues: old.id })).id)
      const before = await world.everything(userId)
      world.clock.advance(29 * dayMs)
      const recent = await opened(world, userId)
      world.clock.advance(2 * dayMs)
      await pruneAll(world)
      expect(await world.everything(userId)).toEqual({ ...before, rate: expect.anything() })
      const { sessions } = await world.store.listSessions({ userId, ...all })
      expect(sessions.map(({ id }) => id)).toEqual([recent.id, ...busy])
      expect(await world.store.listMessages({ userId, sessionId: old.id, ...all })).toBeUndefined()
      expect(await world.store.findPayload(id)).toBeUndefined()
    },
    { limits },
  )

  contractTest(
    'keeps a session in which a turn starts during the pruning',
    async (world) => {
      const userId = await world.createUser()
      const sessions = [await opened(world, userId), await opened(world, userId), await opened(world, userId)]
      world.clock.advance(31 * dayMs)
      const pruning = world.store.prune()
      const results = await Promise.all(sessions.map((session) => world.store.openTurn(draftTurn(world, session))))
      await pruning
      const kept = await Promise.all(sessions.map(({ id: sessionId }) => world.store.getSession({ userId, sessionId })))
      expect(kept.map((session) => session !== undefined)).toEqual(results.map(({ outcome }) => outcome === 'opened'))
    },
    { limits: { retention: { sessionsMs: 30 * dayMs }, sessionIdleSeconds: 90 * 86_400 } },
  )

  contractTest('deletes nothing without a retention', async (world) => {
    const userId = await world.createUser()
    const { id } = await world.completed(userId)
    const session = await opened(world, userId)
    world.clock.advance(10_000 * dayMs)
    expect(await world.store.prune()).toBe(false)
    expect(await world.read(userId, id)).toMatchObject({ prunedAt: null, request: { text: '{"text":"hello"}' } })
    expect(await world.store.getSession({ userId, sessionId: session.id })).toBeDefined()
  })
}
