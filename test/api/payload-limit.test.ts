import { expect, test } from 'vitest'
import { startService } from '../support/test-service.ts'

const limit = 100_000

test('rejects a task beyond the daily payload bytes and stores and charges nothing', async () => {
  const service = await startService({ limits: { executionsPerMinute: 0, payloadBytesPerDay: limit } })
  const { key } = await service.createPerson()
  const create = (chars: number) =>
    service.post('/api/tasks', { endpointId: 'test.echo', params: { value: 'x'.repeat(chars) } }, { key })
  const account = async () => (await service.get('/api/account', key)).body
  const payloads = async () => (await service.app.store.listPayloads({ afterId: '', limit: 100 })).length

  // Echoes the request, so the result has the same size.
  const { body } = await create(45_000)
  expect((await service.get(`/api/tasks/${body.taskId}?wait=20`, key)).body.status).toBe('completed')
  const before = await account()
  const { payloadBytesPerDay, payloadsResetAt, used } = before.limits
  expect([payloadBytesPerDay, new Date(payloadsResetAt).toISOString()]).toEqual([limit, payloadsResetAt])
  expect(used.payloadBytesToday).toBeGreaterThan(90_000)
  expect(used.payloadBytesToday).toBeLessThan(limit)

  const refused = await create(20_000)
  expect([refused.status, refused.body.code]).toEqual([403, 'LIMIT_REACHED'])
  expect(refused.body.message).toContain(`${limit} bytes of payloads per UTC day`)
  expect(refused.body.message).toContain(payloadsResetAt)
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  expect(await account()).toMatchObject({ balanceUsd: before.balanceUsd, limits: { used } })
  expect(await payloads()).toBe(2)
  // A small request is stored inline, so the limit does not reject it.
  expect((await create(10)).status).toBe(200)
  await service.stop()
})
