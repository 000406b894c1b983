import { setTimeout as delay } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import { startUpkeep } from '../../server/app/upkeep.ts'

test('a stop ends work that never runs out, such as closing ten thousand days', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] })
  let closed = 0
  const books = { close: async () => (await tick(), ++closed > 0) }
  const store = { books, verifyLedger: async () => ({ ok: true }) }
  const upkeep = startUpkeep({ store, payloads: {}, retention: {}, log: console, onLedgerReport: () => {} } as never)
  vi.advanceTimersByTime(2000)
  vi.useRealTimers()
  await expect.poll(() => closed).toBeGreaterThan(10)
  upkeep.stop()
  await delay(20)
  const before = closed
  await delay(20)
  expect(closed).toBe(before)
})

test('a sweep pauses for nine times as long as it works, and does not overlap with the next one', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const spans: { from: number; to: number }[] = []
  const prune = async () => {
    const from = performance.now()
    await delay(20)
    spans.push({ from, to: performance.now() })
    return spans.length < 3
  }
  const parts = {
    store: {
      prune,
      erasure: { inProgress: async () => [] },
      purgeExpired: async () => false,
      noteExpired: async () => false,
    },
    payloads: {},
  }
  const upkeep = startUpkeep({ ...parts, retention: { tasksMs: 1 }, log: console, onLedgerReport: () => {} } as never)
  vi.advanceTimersByTime(60_000)
  vi.advanceTimersByTime(60_000)
  vi.useRealTimers()
  await expect.poll(() => spans.length).toBe(3)
  upkeep.stop()
  await delay(20)
  expect(spans).toHaveLength(3)
  for (const [index, { from }] of spans.slice(1).entries()) {
    const earlier = spans[index]!
    expect(from - earlier.to).toBeGreaterThan(8 * (earlier.to - earlier.from))
  }
})

const tick = async () => await new Promise((resolve) => setImmediate(resolve))
