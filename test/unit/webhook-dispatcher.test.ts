import { expect, test } from 'vitest'
import type { LeasedDelivery } from '../../server/store/events/webhook-types.ts'
import { WebhookDispatcher } from '../../server/webhooks/webhook-dispatcher.ts'
import { until, waitMsMax } from '../support/until.ts'

const delivery = (target: string, n: number) =>
  ({ eventId: `e${n}`, webhookId: target, userId: target, target, attempt: 1, fence: 1, body: '{}' }) as LeasedDelivery

test('a failed write of outcomes never lets two leases run at a time', async () => {
  let [leases, atOnce, sent, failures] = [0, 0, 0, 0]
  const warnings: unknown[] = []
  const store = {
    targets: async () => {
      // Another user's webhook becomes due during the second lease.
      const target = leases < 2 ? 'first' : 'second'
      return [{ webhookId: target, userId: target, targets: [{ target, isDue: sent < 20, hasFailed: false }] }]
    },
    lease: async ({ wanted: [{ count, target }] }: { wanted: [{ count: number; target: string }] }) => {
      expect(++atOnce).toBe(1)
      // Longer than the pause after the failure.
      if (++leases === 2) await new Promise((resolve) => setTimeout(resolve, 1500))
      atOnce--
      return Array.from({ length: count }, (_, n) => delivery(target, n))
    },
    end: async () => {
      if (++failures === 1) throw new Error('the database is away')
    },
  }
  const dispatcher = new WebhookDispatcher({
    clock: { now: () => 0 },
    keys: { of: () => [Buffer.alloc(32)] },
    log: { warn: (fields: { err: unknown }) => warnings.push(fields.err), error: () => {} },
    posts: { send: async () => (sent++, 200), close: () => {} },
    store,
  } as never)
  dispatcher.start()
  await until('later deliveries are sent', waitMsMax, () => sent >= 20)
  await dispatcher.stop()
  expect(warnings).toEqual([new Error('the database is away')])
})
