import { expect, test, vi } from 'vitest'
import { startUpkeep } from '../../server/app/upkeep.ts'
import { storedPayloads } from '../support/stored-payloads.ts'
import { startService } from '../support/test-service.ts'

const roundMs = 15 * 60_000

test('the first cleanup after a database outage deletes no payloads', async () => {
  const service = await startService()
  const { payloads, store } = service.app.services.tasks
  const stored = storedPayloads(service.dataDir)
  const { id } = await payloads.write('{"written":"before"}')
  await payloads.release(id)
  await stored.age([id], 2 * 3_600_000)

  let isAway = true
  let answered = 0
  const asked: string[] = []
  const warnings: string[] = []
  const findPayload = async (payloadId: string) => {
    asked.push(payloadId)
    if (isAway) throw new Error('The database is away.')
    const found = await store.findPayload(payloadId)
    answered++
    return found
  }
  const log = { debug() {}, info() {}, error() {}, warn: (_: object, message: string) => void warnings.push(message) }
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const upkeep = startUpkeep({
    store: { ...store, findPayload },
    payloads,
    log,
    onLedgerReport: () => {},
    onQueued: () => {},
  })
  try {
    vi.advanceTimersByTime(roundMs)
    await expect.poll(() => warnings).toEqual([expect.stringContaining('orphaned payloads')])
    isAway = false
    vi.advanceTimersByTime(roundMs)
    await expect.poll(() => answered).toBe(1)
    // The round handles the response in the next tick.
    await new Promise((resolve) => setImmediate(resolve))
    vi.advanceTimersByTime(roundMs)
    await expect.poll(() => stored.ids()).toEqual([])
    // Only the third round checked an object that it was about to delete.
    expect(asked).toEqual(['', '', '', id])
  } finally {
    upkeep.stop()
    vi.useRealTimers()
  }
  await service.stop()
})
