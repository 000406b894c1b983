import fc from 'fast-check'
import { expect } from 'vitest'
import type { ContractTest } from './store-contract.ts'

const limits = { executionsPerMinute: 10 }

export function describeRate(contractTest: ContractTest): void {
  contractTest(
    'accepts the 10th execution of a minute and rejects the 11th without writing anything',
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
    'a slot frees up exactly 60 s after its execution was accepted',
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
    'rejected requests use no slots',
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
    'a rolled-back admission uses no slot and does not affect simultaneous admissions',
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
    'accepts parallel admissions exactly up to the rate limit',
    async (world) => {
      const userId = await world.createUser()
      const results = await Promise.all(Array.from({ length: 25 }, () => world.admit(userId)))
      expect(results.filter(({ outcome }) => outcome === 'accepted')).toHaveLength(10)
      expect(results.filter((result) => result.outcome === 'refused' && result.reason === 'rate')).toHaveLength(15)
    },
    { limits },
  )

  contractTest(
    'failed executions keep counting, and each user has a separate window',
    async (world) => {
      const [userId, other] = [await world.createUser(), await world.createUser()]
      for (let used = 1; used <= 10; used++) await world.failed(userId)
      await world.expectRefused(world.draft(userId), { reason: 'rate' })
      expect(await world.admit(other)).toMatchObject({ outcome: 'accepted', rate: { used: 1 } })
    },
    { limits },
  )

  contractTest('a rate limit of 0 counts and rejects nothing', async (world) => {
    const userId = await world.createUser()
    const results = await Promise.all(Array.from({ length: 30 }, () => world.admit(userId)))
    const rate = { limit: 0, used: 0, oldestAt: null, now: world.clock.now() }
    expect(results.every((result) => result.outcome === 'accepted')).toBe(true)
    expect(results[29]!.rate).toEqual(rate)
    expect(await world.rate(userId)).toEqual(rate)
  })

  contractTest(
    'accepts a request if and only if the last 60 s are below the limit',
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
