import { rmSync } from 'node:fs'
import { expect, test } from 'vitest'
import { unwrap } from '../../../client/webhooks.ts'
import { openAccount, ProcessClient } from '../../runner/process-client.ts'
import { startProcess } from '../../support/test-process.ts'
import { newDataDir } from '../../support/test-service.ts'
import { createWebhook } from '../process-webhook.ts'
import { startReceiver } from '../receiver.ts'

// The second attempt waits until the first one's lease expires.
test('a service killed before storing a delivery repeats it with the same id and bytes', async () => {
  const dataDir = newDataDir()
  const receiver = await startReceiver()
  const { key } = await openAccount(dataDir)
  const killed = await startProcess({ dataDir })
  const secret = await createWebhook(killed.url, key, receiver)
  let ended: Promise<unknown> | undefined
  receiver.answers.set('/', (_, response) => {
    // The first attempt has arrived completely, but the service gets no response.
    if (ended === undefined) ended = killed.end('SIGKILL')
    else response.writeHead(204).end()
  })
  const { taskId } = (await new ProcessClient(killed.url, key).createTask('test.echo', {})).body
  await receiver.waitFor(1)
  await ended
  const server = await startProcess({ dataDir })
  const [first, second] = await receiver.waitFor(2)
  expect([second!.id, second!.body]).toEqual([first!.id, first!.body])
  expect(await unwrap(second!.body, second!.headers, secret)).toMatchObject({ data: { taskId } })
  expect(await server.end('SIGTERM')).toBe(0)
  expect(receiver.received).toHaveLength(2)
  await receiver.stop()
  rmSync(dataDir, { recursive: true })
})
