import { expect, test } from 'vitest'
import { createClient, type RetryEvent } from '../../client/client.ts'
import { startService } from '../support/test-service.ts'
import { collect, delta, done, startStream, streamOf, streamRefusal, toLine } from './chat-answers.ts'
import { rejection } from './rejection.ts'
import { startStub } from './stub-server.ts'

// Simulates a component that is mounted, unmounted and mounted again: it starts a chat, aborts it, and starts it again.

test('a chat restarted right after leaving succeeds without SESSION_BUSY', async () => {
  const service = await startService()
  const { key } = await service.createPerson()
  const client = createClient({ baseUrl: service.url, apiKey: key })
  const { sessionId } = await client.sessions.create({ agentId: 'talk' })
  for (let mounts = 0; mounts < 3; mounts++) {
    const controller = new AbortController()
    const left = collect(client.chat.stream({ sessionId, message: 'hello' }, { signal: controller.signal }))
    // Waits longer each time, so that the service has started the turn.
    if (mounts > 0) await new Promise((resolve) => setTimeout(resolve, 20 * mounts))
    controller.abort('unmounted')
    await left.catch((reason: unknown) => expect(reason).toBe('unmounted'))
    const events = await collect(client.chat.stream({ sessionId, message: 'hello' }))
    expect(events.at(-1)).toMatchObject({ type: 'done' })
  }
  await service.stop()
})

test('retries SESSION_BUSY after its own abort with growing pauses, even from another client', async () => {
  const stub = await startStub(
    (response) => void startStream(response).write(toLine(delta('…'))),
    streamRefusal(409, 'SESSION_BUSY'),
    streamRefusal(409, 'SESSION_BUSY'),
    streamOf(done),
  )
  const retries: RetryEvent[] = []
  const options = { baseUrl: stub.url, apiKey: 'key', onRetry: (retry: RetryEvent) => void retries.push(retry) }
  const input = { sessionId: 'ses_left', message: 'Hello' }
  for await (const _ of createClient(options).chat.stream(input)) break
  expect(await collect(createClient(options).chat.stream(input))).toEqual([done])
  expect(retries.map(({ delayMs, error }) => [error.code, delayMs])).toEqual([
    ['SESSION_BUSY', 50],
    ['SESSION_BUSY', 100],
  ])
  await stub.stop()
})

test("throws SESSION_BUSY immediately if another client's chat occupies the session", async () => {
  const stub = await startStub(streamRefusal(409, 'SESSION_BUSY'))
  const client = createClient({ baseUrl: stub.url, apiKey: 'key' })
  const chat = () => client.chat.text({ sessionId: 'ses_other', message: 'Hello' })
  expect(await rejection(chat())).toMatchObject({ code: 'SESSION_BUSY', status: 409 })
  expect(await rejection(chat())).toMatchObject({ code: 'SESSION_BUSY', status: 409 })
  expect(stub.requests).toHaveLength(2)
  await stub.stop()
})

test('an abort ends the wait for a busy session', async () => {
  const stub = await startStub(
    (response) => void startStream(response).write(toLine(delta('…'))),
    streamRefusal(409, 'SESSION_BUSY'),
  )
  const controller = new AbortController()
  const client = createClient({ baseUrl: stub.url, apiKey: 'key', onRetry: () => controller.abort('enough') })
  const input = { sessionId: 'ses_stuck', message: 'Hello' }
  for await (const _ of client.chat.stream(input)) break
  await expect(collect(client.chat.stream(input, { signal: controller.signal }))).rejects.toBe('enough')
  expect(stub.requests).toHaveLength(2)
  await stub.stop()
})
