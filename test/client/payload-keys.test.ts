import { expect, test } from 'vitest'
import { createClient } from '../../client/client.ts'
import { startService } from '../support/test-service.ts'

test('reads a task with unusual payload key names, alone or in a batch', async () => {
  const service = await startService()
  const { key } = await service.createPerson()
  const client = createClient({ baseUrl: service.url, apiKey: key })
  const odd = await service.runTask(key, 'test.echo', { constructor: { prototype: 1 } })
  const plain = await service.runTask(key, 'test.echo', { plain: true })
  expect(await client.tasks.get({ taskId: odd.id })).toEqual(odd)
  const both = [client.tasks.get({ taskId: odd.id }), client.tasks.get({ taskId: plain.id })]
  expect(await Promise.all(both)).toEqual([odd, plain])
  await service.stop()
})
