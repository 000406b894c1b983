import { setTimeout as delay } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import { startUpkeep } from '../../server/app/upkeep.ts'

test('a stop ends work that never runs out, such as closing ten thousand days', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] })
  let closed = 0
  const books = { close: async () => (await tick(), ++closed > 0) }
  const store = { books, verifyLedger: async () => ({ ok: true }) }
  const upkeep = startUpkeep({ store, payloads: {}, log: console, onLedgerReport: () => {} } as never)
  vi.advanceTimersByTime(2000)
  vi.useRealTimers()
  await expect.poll(() => closed).toBeGreaterThan(10)
  upkeep.stop()
  await delay(20)
  const before = closed
  await delay(20)
  expect(closed).toBe(before)
})

const tick = async () => await new Promise((resolve) => setImmediate(resolve))
