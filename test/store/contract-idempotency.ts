import { expect } from 'vitest'
import type { ContractTest } from './store-contract.ts'
import type { StoreWorld } from './store-world.ts'

const dayMs = 24 * 3_600_000
const idempotency = { key: 'order-1', bodyHash: 'hash of the body' }
const operation = 'createTask'

async function expectReplayed(world: StoreWorld, userId: string, taskId: string): Promise<void> {
  await world.expectRefused(world.draft(userId, { idempotency }), { outcome: 'replayed', taskId })
}

export function describeIdempotency(contractTest: ContractTest): void {
  contractTest('a retry with the same key and body returns the first task and charges once', async (world) => {
    const userId = await world.createUser(1000)
    const taskId = await world.pending(userId, { idempotency })
    await expectReplayed(world, userId, taskId)
    expect(await world.balance(userId)).toBe(900)
    const { bodyHash } = idempotency
    const found = await world.store.findIdempotent({ userId, operation, key: idempotency.key })
    expect(found).toMatchObject({ bodyHash, resourceId: taskId })
  })

  contractTest('rejects a reused key with a different body and writes nothing', async (world) => {
    const userId = await world.createUser(1000)
    await world.pending(userId, { idempotency })
    const other = world.draft(userId, { idempotency: { ...idempotency, bodyHash: 'another' } })
    await world.expectRefused(other, { outcome: 'refused', reason: 'idempotency-conflict' })
  })

  contractTest('an idempotency key is specific to its user and operation', async (world) => {
    const [userId, other] = [await world.createUser(), await world.createUser()]
    const taskId = await world.pending(userId, { idempotency })
    const { key } = idempotency
    expect(await world.store.findIdempotent({ userId: other, operation, key })).toBeUndefined()
    expect(await world.store.findIdempotent({ userId, operation: 'createSession', key })).toBeUndefined()
    expect(await world.store.findIdempotent({ userId, operation, key: 'ORDER-1' })).toBeUndefined()
    expect(await world.pending(other, { idempotency })).not.toBe(taskId)
  })

  contractTest('remembers a key for exactly 24 hours', async (world) => {
    const userId = await world.createUser()
    const first = await world.pending(userId, { idempotency })
    world.clock.advance(dayMs - 1)
    await expectReplayed(world, userId, first)
    world.clock.advance(1)
    expect(await world.store.findIdempotent({ userId, operation, key: idempotency.key })).toBeUndefined()
    expect(await world.store.foreseeAdmission(world.draft(userId, { idempotency }))).toBeUndefined()
    const second = await world.pending(userId, { idempotency: { ...idempotency, bodyHash: 'another' } })
    expect(second).not.toBe(first)
    const again = world.draft(userId, { idempotency })
    await world.expectRefused(again, { reason: 'idempotency-conflict' })
    world.clock.advance(dayMs - 1)
    await world.expectRefused(again, { reason: 'idempotency-conflict' })
  })

  contractTest('a replay ignores an empty balance', async (world) => {
    const userId = await world.createUser(100)
    const taskId = await world.pending(userId, { idempotency, cost: 100 })
    await world.expectRefused(world.draft(userId), { reason: 'balance' })
    await expectReplayed(world, userId, taskId)
  })

  contractTest(
    'replays and conflicts ignore a full rate window',
    async (world) => {
      const userId = await world.createUser()
      const taskId = await world.pending(userId, { idempotency })
      await world.pending(userId)
      await world.expectRefused(world.draft(userId), { reason: 'rate' })
      await expectReplayed(world, userId, taskId)
      const conflict = { ...idempotency, bodyHash: 'another' }
      await world.expectRefused(world.draft(userId, { idempotency: conflict }), { reason: 'idempotency-conflict' })
    },
    { limits: { executionsPerMinute: 2 } },
  )

  contractTest(
    'a replay ignores an abuse block',
    async (world) => {
      const userId = await world.createUser()
      const taskId = await world.pending(userId, { idempotency })
      await world.failed(userId)
      await world.failed(userId)
      await world.expectRefused(world.draft(userId), { reason: 'blocked' })
      await expectReplayed(world, userId, taskId)
    },
    { limits: { abuseFailures: 2 } },
  )

  contractTest('a replay still works after the task has failed', async (world) => {
    const userId = await world.createUser()
    const { id: taskId } = await world.failed(userId, { idempotency })
    await expectReplayed(world, userId, taskId)
  })

  contractTest('a rejected request does not use up its key', async (world) => {
    const userId = await world.createUser(50)
    const draft = world.draft(userId, { idempotency })
    await world.expectRefused(draft, { reason: 'balance' })
    await world.store.credit({ userId, amount: 50, description: '', idempotencyKey: null })
    expect(await world.store.admitTask(draft)).toMatchObject({ outcome: 'accepted' })
  })

  contractTest('charges only one of several parallel requests with one key; all return its task', async (world) => {
    const userId = await world.createUser()
    const drafts = Array.from({ length: 12 }, () => world.draft(userId, { idempotency }))
    const results = await Promise.all(drafts.map((draft) => world.store.admitTask(draft)))
    const accepted = drafts.filter((_, index) => results[index]!.outcome === 'accepted')
    expect(accepted).toHaveLength(1)
    for (const result of results) {
      if (result.outcome !== 'accepted')
        expect(result).toMatchObject({ outcome: 'replayed', taskId: accepted[0]!.taskId })
    }
    expect(await world.balance(userId)).toBe(100_000 - 100)
  })

  contractTest('rejects one of two parallel requests with the same key and different bodies', async (world) => {
    const userId = await world.createUser()
    const results = await Promise.all(
      ['one', 'two'].map((bodyHash) => world.admit(userId, { idempotency: { key: 'order-1', bodyHash } })),
    )
    const outcomes = results.map((result) => (result.outcome === 'refused' ? result.reason : result.outcome))
    expect(outcomes.toSorted()).toEqual(['accepted', 'idempotency-conflict'])
  })

  contractTest('purges only expired keys, in a bounded number of rounds', async (world) => {
    const userId = await world.createUser()
    for (let index = 0; index < 20; index++) {
      await world.pending(userId, { idempotency: { key: `old-${index}`, bodyHash: 'one' }, cost: 1 })
    }
    world.clock.advance(dayMs - 1)
    const taskId = await world.pending(userId, { idempotency })
    await purge(world)
    expect(await world.admit(userId, { idempotency: { key: 'old-7', bodyHash: 'one' } })).toMatchObject({
      outcome: 'replayed',
    })
    world.clock.advance(1)
    await purge(world)
    await expectReplayed(world, userId, taskId)
    expect(await world.admit(userId, { idempotency: { key: 'old-7', bodyHash: 'one' } })).toMatchObject({
      outcome: 'accepted',
    })
  })
}

async function purge(world: StoreWorld): Promise<void> {
  for (let rounds = 0; await world.store.purgeExpired(); rounds++) expect(rounds).toBeLessThan(10)
}
