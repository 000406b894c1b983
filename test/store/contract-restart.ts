import { expect } from 'vitest'
import type { ContractTest } from './store-contract.ts'
import { everyone, interrupted } from './store-world.ts'

export function describeRestart(contractTest: ContractTest): void {
  contractTest(
    'all data survives a restart',
    async (world) => {
      const userId = await world.createUser()
      await world.pending(userId)
      await world.processing(userId)
      await world.completed(userId)
      world.clock.advance(5)
      await world.failed(userId)
      const { id: retried } = await world.processing(userId)
      await world.store.interruptTask({ taskId: retried, attempt: 1, error: interrupted, retries: 1 })
      const tokenHash = 'f'.repeat(64)
      const key = { userId, name: 'laptop', hint: 'a1b2', scopes: ['read' as const], expiresAt: null, tokenHash }
      const { id: keyId } = await world.store.createKey(key)
      await world.store.touchKeys([{ keyId, at: world.clock.now() }])
      const before = await world.everything(userId)
      const users = await world.store.listUsers(everyone)
      expect(before).toMatchObject({ list: { total: 5 }, keys: { total: 1 }, rate: { used: 5 } })
      await world.reopen()
      expect(await world.everything(userId)).toEqual(before)
      expect(await world.store.listUsers(everyone)).toEqual(users)
      expect(await world.store.findKey(tokenHash)).toMatchObject({ userId })
    },
    { limits: { executionsPerMinute: 100 } },
  )

  contractTest(
    'rate window, abuse block and remembered keys survive a restart',
    async (world) => {
      const [busy, blocked] = [await world.createUser(), await world.createUser()]
      const idempotency = { key: 'order-1', bodyHash: 'one' }
      const taskId = await world.pending(busy, { idempotency })
      await world.pending(busy)
      await world.pending(busy)
      await world.failed(blocked)
      await world.reopen()
      expect(await world.admit(busy)).toMatchObject({ reason: 'rate' })
      expect(await world.admit(busy, { idempotency })).toMatchObject({ outcome: 'replayed', taskId })
      await world.failed(blocked)
      await world.reopen()
      expect(await world.admit(blocked)).toMatchObject({ reason: 'blocked', until: world.clock.now() + 600_000 })
      world.clock.advance(59_999)
      expect(await world.admit(busy)).toMatchObject({ reason: 'rate' })
      world.clock.advance(1)
      expect(await world.admit(busy)).toMatchObject({ outcome: 'accepted' })
      world.clock.advance(540_000)
      expect(await world.admit(blocked)).toMatchObject({ outcome: 'accepted' })
    },
    { limits: { executionsPerMinute: 3, abuseFailures: 2 } },
  )

  contractTest('closing the store completes commands in progress and stores their changes', async (world) => {
    const userId = await world.createUser(1000)
    const { id: taskId } = await world.processing(userId)
    const under = Promise.all([
      world.admit(userId),
      world.store.completeTask({ taskId, attempt: 1, response: { text: '{}', payloadId: null } }),
      world.store.credit({ userId, amount: 5, description: '', idempotencyKey: null }),
    ])
    await world.reopen()
    expect(await under).toMatchObject([{ outcome: 'accepted' }, true, { outcome: 'credited' }])
    expect(await world.balance(userId)).toBe(1000 - 200 + 5)
    expect((await world.store.listTasks({ userId, limit: 10, offset: 0 })).total).toBe(2)
  })

  contractTest('after a restart the clock starts no earlier than the newest stored time', async (world) => {
    const userId = await world.createUser()
    expect(world.notBefore).toBeLessThanOrEqual(world.clock.now())
    await world.pending(userId)
    world.clock.advance(7)
    await world.failed(userId)
    const { id: taskId, attempt } = await world.processing(userId)
    world.clock.advance(7)
    await world.store.completeTask({ taskId, attempt, response: { text: '{}', payloadId: null } })
    const newest = world.clock.now()
    await world.reopen()
    expect(world.notBefore).toBe(newest)
  })
}
