import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { LeaseKeeper } from '../../../server/app/lease-keeper.ts'

const leaseSeconds = 1
const leaseMs = leaseSeconds * 1000
const silent = { debug() {}, info() {}, warn() {}, error() {} }

/** A database that is reachable until `trouble` is set. */
class Reached {
  trouble: (() => Promise<void>) | undefined
  clockStepMs = 0
  renewedAt = 0
  settledAt: number | undefined
  settling = Promise.resolve()
  maySettle: (() => boolean) | undefined
  readonly keeper = new LeaseKeeper({
    store: { closeAbandonedTurns: () => Promise.resolve(0) },
    shared: {
      signals: { send() {}, on: () => () => {}, onGap: () => () => {} },
      renewLeases: async () => {
        await this.trouble?.()
        this.renewedAt = performance.now()
        return { taskIds: [], turnIds: [], at: Date.now() + this.clockStepMs }
      },
      countQueued: () => Promise.resolve(0),
    },
    runner: {
      heldTasks: [],
      loseTasks: () => [],
      noteQueued() {},
    },
    settleTasks: (maySettle) => {
      this.settledAt ??= performance.now()
      this.maySettle = maySettle
      return this.settling
    },
    chats: { heldTurnIds: [], loseTurns: () => [] },
    leaseSeconds,
    queuedMax: 0,
    log: silent,
  })

  async settles(): Promise<number> {
    await expect.poll(() => this.settledAt, { timeout: 20_000, interval: 20 }).toBeDefined()
    return this.settledAt!
  }
}

test('a starting node does not take over the work of other nodes for one lease', async () => {
  const reached = new Reached()
  const startedAt = performance.now()
  reached.keeper.start()
  expect((await reached.settles()) - startedAt).toBeGreaterThanOrEqual(leaseMs)
  await reached.keeper.stop()
})

// Each break ends with a renewal. After that, other nodes may take up to one lease to renew theirs.
const breaks: [string, (reached: Reached) => Promise<number>][] = [
  [
    'a database outage',
    async (reached) => {
      let failures = 0
      reached.trouble = () => (failures++ < 2 ? Promise.reject(new Error('the database is away')) : Promise.resolve())
      await expect.poll(() => failures, { timeout: 20_000, interval: 5 }).toBeGreaterThan(2)
      return reached.renewedAt
    },
  ],
  [
    'a database stall',
    async (reached) => {
      let wasStill = false
      reached.trouble = async () => {
        if (wasStill) return
        await delay(leaseMs * 0.8)
        wasStill = true
      }
      await expect.poll(() => wasStill, { timeout: 20_000, interval: 5 }).toBe(true)
      return reached.renewedAt
    },
  ],
  [
    'a stall of the nodes themselves',
    async (reached) => {
      const before = reached.renewedAt
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, leaseMs)
      await expect.poll(() => reached.renewedAt > before, { timeout: 20_000, interval: 5 }).toBe(true)
      return reached.renewedAt
    },
  ],
  [
    'a jump of the database clock',
    async (reached) => {
      reached.clockStepMs = 3_600_000
      const before = reached.renewedAt
      await expect.poll(() => reached.renewedAt > before, { timeout: 20_000, interval: 5 }).toBe(true)
      return reached.renewedAt
    },
  ],
]

test.for(breaks)('after %s, a node does not take over the work of other nodes for one lease', async ([, happen]) => {
  const reached = new Reached()
  reached.keeper.start()
  await reached.settles()
  const brokenUntil = await happen(reached)
  reached.settledAt = undefined
  expect((await reached.settles()) - brokenUntil).toBeGreaterThanOrEqual(leaseMs)
  await reached.keeper.stop()
})

test('renews leases while settling abandoned work, and stops settling after an outage', async () => {
  const reached = new Reached()
  const { promise, resolve } = Promise.withResolvers<void>()
  reached.settling = promise
  reached.keeper.start()
  const settlesSince = await reached.settles()
  await expect.poll(() => reached.renewedAt - settlesSince, { timeout: 20_000 }).toBeGreaterThan(leaseMs)
  await expect.poll(() => reached.maySettle!(), { timeout: 20_000 }).toBe(true)
  reached.trouble = () => Promise.reject(new Error('the database is away'))
  await expect.poll(() => reached.maySettle!(), { timeout: 20_000 }).toBe(false)
  resolve()
  await reached.keeper.stop()
})
