import { rmSync } from 'node:fs'
import { expect, test } from 'vitest'
import { unwrap } from '../../../client/webhooks.ts'
import { openAccount, ProcessClient } from '../../runner/process-client.ts'
import { startProcess } from '../../support/test-process.ts'
import { newDataDir } from '../../support/test-service.ts'
import { until, waitMsMax } from '../../support/until.ts'
import { createWebhook } from '../process-webhook.ts'
import { startReceiver } from '../receiver.ts'

// Events must be sent even if the service is killed.

test('reports the refund of a running task after the service was killed and restarted', async () => {
  const dataDir = newDataDir()
  const receiver = await startReceiver()
  const { key } = await openAccount(dataDir)
  const env = { ERRAND_LEASE_SECONDS: '1' }
  const killed = await startProcess({ dataDir, env })
  const secret = await createWebhook(killed.url, key, receiver)
  const client = new ProcessClient(killed.url, key)
  const { taskId } = (await client.createTask('test.wait', { ms: 4000 })).body
  await until(
    'it is at work',
    waitMsMax,
    async () => (await client.get(`/api/tasks/${taskId}`)).body.status === 'processing',
  )
  await killed.end('SIGKILL')
  expect(receiver.received).toEqual([])
  const server = await startProcess({ dataDir, env })
  const [received] = await receiver.waitFor(1)
  const event = await unwrap(received!.body, received!.headers, secret)
  expect(event).toMatchObject({
    type: 'task.failed',
    data: { taskId, errorCode: 'AGENT_INTERRUPTED', costUsd: '0.0100' },
  })
  expect(await server.end('SIGTERM')).toBe(0)
  await receiver.stop()
  rmSync(dataDir, { recursive: true })
})
