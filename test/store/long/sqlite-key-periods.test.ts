import { expect, test } from 'vitest'
import { insertTasks } from '../../../bench/bench-data.ts'
import { startService } from '../../support/test-service.ts'

const count = 100_000

test("changing a key's period counts 100,000 executions without blocking the event loop", async () => {
  const service = await startService()
  const { key, userId } = await service.createPerson()
  const { body } = await service.post(
    '/api/keys',
    { name: 'limited', limitUsd: '100.0000', limitReset: 'day' },
    { key },
  )
  const { id: keyId } = body
  const countedIn = `{"${keyId}":86400000}`
  insertTasks(service.dataDir, { users: [{ userId, key }], count, status: 'completed', cost: 1, countedIn })
  const { store } = service.app
  const change = async (spendReset: 'day' | 'never') => {
    let turns = 0
    let isOver = false
    const count = () => void (isOver || (turns++, setImmediate(count)))
    count()
    await store.updateKey({ userId, keyId, changes: { spendReset } })
    isOver = true
    return turns
  }
  // Each batch of 1,000 executions is summed in a separate tick.
  expect(await change('never')).toBeGreaterThan(90)
  await change('day')
  const periods = Array.from({ length: 16 }, (_, n) => (n % 2 === 0 ? ('never' as const) : ('day' as const)))
  expect(Math.min(...(await Promise.all(periods.map(change))))).toBeGreaterThan(0)
  await change('never')
  const { keys } = (await service.get('/api/keys', key)).body
  expect(keys).toContainEqual(expect.objectContaining({ id: keyId, limitReset: 'never', usedUsd: '10.0000' }))
  await service.stop()
})
