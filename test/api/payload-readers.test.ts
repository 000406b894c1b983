import { expect, test } from 'vitest'
import { unlimited } from '../runner/task-checks.ts'
import { RawConnection, rawRequest } from '../support/raw-http.ts'
import { startService } from '../support/test-service.ts'

test('stalled readers hold at most 24 downloads per user; more get 503, others continue', async () => {
  const service = await startService({ limits: unlimited })
  const [greedy, honest] = [await service.createPerson(), await service.createPerson()]
  // More data than the buffers on both ends hold.
  const { responseUri } = await service.runTask(greedy.key, 'test.large', { chars: 20_000_000 })
  const { responseUri: other } = await service.runTask(honest.key, 'test.large', { chars: 100_000 })
  const path = responseUri.slice(service.url.length)
  const stopped: RawConnection[] = []
  try {
    for (let count = 0; count < 24; count++) {
      const connection = await RawConnection.open(service.url)
      stopped.push(connection)
      await connection.send(rawRequest(`GET ${path}`, []))
      await connection.begun()
      connection.pause()
    }
    const refused = await fetch(responseUri)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1'])
    expect(await refused.json()).toMatchObject({
      message: expect.stringMatching(/^This account already has 24 payload downloads/),
    })
    expect((await fetch(responseUri, { method: 'HEAD' })).status).toBe(200)
    expect((await fetch(other)).status).toBe(200)
  } finally {
    for (const connection of stopped) connection[Symbol.dispose]()
  }
  const again = async () => {
    const { body, status } = await fetch(responseUri)
    await body?.cancel()
    return status
  }
  await expect.poll(again, { timeout: 20_000 }).toBe(200)
  await service.stop()
})
