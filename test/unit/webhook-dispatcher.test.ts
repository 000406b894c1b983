import { expect, test } from 'vitest'
import type { LeasedDelivery } from '../../server/store/events/webhook-types.ts'
import { WebhookDispatcher } from '../../server/webhooks/webhook-dispatcher.ts'
import { until, waitMsMax } from '../support/until.ts'

const delivery = (target: string, n: number) =>
  ({ eventId: `e${n}`, webhookId: target, userId: target, target, attempt: 1, fence: 1, body: '{}' }) as LeasedDelivery

/** Returns a dispatcher with this store. `sent` is called for each delivery. */
const dispatcherOf = (store: object, { log = {}, sent }: { log?: object; sent: (target: string) => unknown }) =>
  new WebhookDispatcher({
    clock: { now: () => 0 },
    keys: { of: () => [Buffer.alloc(32)] },
    log: { warn: () => {}, error: () => {}, ...log },
    posts: { send: async ({ target }: LeasedDelivery) => (await sent(target), 200), close: () => {} },
    store,
  } as never)

type Lease = { wanted: { target: string; count: number }[] }

test('targets that are always due take turns', async () => {
  const counts = new Map(Array.from({ length: 200 }, (_, n) => [`user${n}`, 0]))
  const page = [...counts.keys()].map((target) => ({
    webhookId: target,
    userId: target,
    targets: [{ target, isDue: true, hasFailed: false }],
  }))
  let [event, total] = [0, 0]
  const store = {
    targets: async ({ after, limit }: { after: string; limit: number }) =>
      page.slice(page.findIndex(({ userId }) => userId === after) + 1).slice(0, limit),
    lease: async ({ wanted }: Lease) =>
      wanted.flatMap(({ count, target }) => Array.from({ length: count }, () => delivery(target, event++))),
    end: async () => {},
  }
  const sent = async (target: string) => {
    counts.set(target, counts.get(target)! + 1)
    total++
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  const dispatcher = dispatcherOf(store, { sent })
  dispatcher.start()
  await until('each has had several turns', waitMsMax, () => total >= 8000)
  await dispatcher.stop()
  expect(Math.min(...counts.values())).toBeGreaterThan(8)
})

test('a failed write of outcomes never lets two leases run at a time', async () => {
  let [leases, atOnce, sent, failures] = [0, 0, 0, 0]
  const warnings: unknown[] = []
  const store = {
    targets: async () => {
      // Another user's webhook becomes due during the second lease.
      const target = leases < 2 ? 'first' : 'second'
      return [{ webhookId: target, userId: target, targets: [{ target, isDue: sent < 20, hasFailed: false }] }]
    },
    lease: async ({ wanted }: Lease) => {
      const { count, target } = wanted[0]!
      expect(++atOnce).toBe(1)
      // Takes longer than the pause after the failure.
      if (++leases === 2) await new Promise((resolve) => setTimeout(resolve, 1500))
      atOnce--
      return Array.from({ length: count }, (_, n) => delivery(target, n))
    },
    end: async () => {
      if (++failures === 1) throw new Error('the database is away')
    },
  }
  const log = { warn: (fields: { err: unknown }) => warnings.push(fields.err) }
  const dispatcher = dispatcherOf(store, { log, sent: () => sent++ })
  dispatcher.start()
  await until('later deliveries are sent', waitMsMax, () => sent >= 20)
  await dispatcher.stop()
  expect(warnings).toEqual([new Error('the database is away')])
})
