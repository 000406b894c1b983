import fc from 'fast-check'
import { expect } from 'vitest'
import type { ContractTest } from './store-contract.ts'

const limits = { executionsPerMinute: 10 }

export function describeRate(contractTest: ContractTest): void {
  contractTest(
    'the 10th execution of a minute is accepted and the 11th refused, and nothing is written',
    async (world) => {
      const userId = await world.createUser()
      const start = world.clock.now()
      for (let used = 1; used <= 10; used++) {
        const rate = { limit: 10, used, oldestAt: start, now: world.clock.now() }
        expect(await world.admit(userId)).toMatchObject({ outcome: 'accepted', rate })
        expect(await world.rate(userId)).toEqual(rate)
        world.clock.advance(1000)
      }
      const rate = { limit: 10, used: 10, oldestAt: start, now: start + 10_000 }
      await world.expectRefused(world.draft(userId), { outcome: 'refused', reason: 'rate', rate })
    },
    { limits },
  )

  contractTest(
    'a slot is free exactly 60 s after its execution was accepted',
    async (world) => {
      const userId = await world.createUser()
      await world.pending(userId)
      const first = world.clock.now()
      world.clock.advance(1)
      for (let used = 2; used <= 10; used++) await world.pending(userId)
      world.clock.advance(59_998)
      await world.expectRefused(world.draft(userId), { reason: 'rate', rate: { used: 10, oldestAt: first } })
      world.clock.advance(1)
      expect(await world.rate(userId)).toMatchObject({ used: 9, oldestAt: first + 1 })
      expect(await world.admit(userId)).toMatchObject({ outcome: 'accepted', rate: { used: 10 } })
      await world.expectRefused(world.draft(userId), { reason: 'rate' })
    },
    { limits },
  )

  contractTest(
    'refusals use no slot, however many there are',
    async (world) => {
      const userId = await world.createUser(1000)
      const first = world.clock.now()
      for (let used = 1; used <= 9; used++) await world.pending(userId)
      for (let tries = 0; tries < 15; tries++)
        await world.expectRefused(world.draft(userId, { cost: 101 }), { reason: 'balance' })
      await world.pending(userId)
      for (let tries = 0; tries < 15; tries++) await world.expectRefused(world.draft(userId), { reason: 'rate' })
      world.clock.advance(60_000)
      expect(await world.rate(userId)).toEqual({ limit: 10, used: 0, oldestAt: null, now: first + 60_000 })
    },
    { limits },
  )

  contractTest(
    'an admission that a fault undoes uses no slot, and neither do those beside it lose theirs',
    async (world) => {
      const [userId, other] = [await world.createUser(), await world.createUser()]
      const taskId = await world.pending(userId)
      const results = await Promise.allSettled([
        world.admit(userId),
        world.admit(userId, { taskId }),
        world.admit(other),
        world.admit(userId),
        world.admit(userId, { cost: -1 }),
        world.admit(other),
      ])
      expect(results.map(({ status }) => status === 'fulfilled')).toEqual([true, false, true, true, false, true])
      expect(await world.rate(userId)).toMatchObject({ used: 3 })
      expect(await world.rate(other)).toMatchObject({ used: 2 })
      await world.reopen()
      expect(await world.rate(userId)).toMatchObject({ used: 3 })
      expect(await world.rate(other)).toMatchObject({ used: 2 })
    },
    { limits },
  )

  contractTest(
    'of parallel admissions exactly the limit is accepted',
    async (world) => {
      const userId = await world.createUser()
      const results = await Promise.all(Array.from({ length: 25 }, () => world.admit(userId)))
      expect(results.filter(({ outcome }) => outcome === 'accepted')).toHaveLength(10)
      expect(results.filter((result) => result.outcome === 'refused' && result.reason === 'rate')).toHaveLength(15)
    },
    { limits },
  )

  contractTest(
    'a failed and refunded execution goes on counting, and another user has a window of their own',
    async (world) => {
      const [userId, other] = [await world.createUser(), await world.createUser()]
      for (let used = 1; used <= 10; used++) await world.failed(userId)
      await world.expectRefused(world.draft(userId), { reason: 'rate' })
      expect(await world.admit(other)).toMatchObject({ outcome: 'accepted', rate: { used: 1 } })
    },
    { limits },
  )

  contractTest('with a limit of 0 nothing is counted and nothing refused', async (world) => {
    const userId = await world.createUser()
    const results = await Promise.all(Array.from({ length: 30 }, () => world.admit(userId)))
    const rate = { limit: 0, used: 0, oldestAt: null, now: world.clock.now() }
    expect(results.every((result) => result.outcome === 'accepted')).toBe(true)
    expect(results[29]!.rate).toEqual(rate)
    expect(await world.rate(userId)).toEqual(rate)
  })

  contractTest(
    'whenever requests arrive, one is accepted if and only if fewer than the limit were in the 60 s before it',
    async (world) => {
      const gap = fc.oneof(fc.nat({ max: 30_000 }), fc.constantFrom(0, 1, 20_000, 59_999, 60_000, 60_001))
      await fc.assert(
        fc.asyncProperty(fc.array(gap, { minLength: 1, maxLength: 40 }), async (gaps) => {
          const userId = await world.createUser()
          const accepted: number[] = []
          for (const ms of gaps) {
            world.clock.advance(ms)
            const now = world.clock.now()
            const counted = accepted.filter((at) => at > now - 60_000).length
            const result = await world.admit(userId, { cost: 1 })
            expect(result.outcome).toBe(counted < 3 ? 'accepted' : 'refused')
            if (result.outcome === 'accepted') accepted.push(now)
          }
        }),
        { numRuns: 25 },
      )
    },
    { limits: { executionsPerMinute: 3 } },
  )
}
