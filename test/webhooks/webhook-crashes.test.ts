import { rmSync } from 'node:fs'
import { expect, test } from 'vitest'
import { unwrap } from '../../client/webhooks.ts'
import { openAccount, ProcessClient } from '../runner/process-client.ts'
import { startProcess } from '../support/test-process.ts'
import { newDataDir } from '../support/test-service.ts'
import { until, waitMsMax } from '../support/until.ts'
import { ofTier } from '../run/tiers.ts'
import { startReceiver, type Receiver } from './receiver.ts'

// A service that is killed, and what its users are told in spite of that.

async function createWebhook(url: string, key: string, receiver: Receiver): Promise<string> {
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' }
  const body = JSON.stringify({ url: receiver.url, types: ['task.completed', 'task.failed'] })
  const answer = await fetch(`${url}/api/webhooks`, { method: 'POST', headers, body })
  expect(answer.status).toBe(200)
  return ((await answer.json()) as { secret: string }).secret
}

test('the refund of a task that was at work when the service was killed is told after the restart', async () => {
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

// The second attempt waits for the end of the lease of the first.
test.runIf(ofTier(false, true))(
  'a service that is killed between sending an event and keeping that sends it again, with the same id and bytes',
  async () => {
    const dataDir = newDataDir()
    const receiver = await startReceiver()
    const { key } = await openAccount(dataDir)
    const killed = await startProcess({ dataDir })
    const secret = await createWebhook(killed.url, key, receiver)
    let ended: Promise<unknown> | undefined
    receiver.answers.set('/', (_, response) => {
      // The first has arrived whole; its sender hears nothing of it.
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
  },
)
