import { expect, test } from 'vitest'
import { createClient } from '../../client/client.ts'
import { startService } from '../support/test-service.ts'
import { recordedFetch } from './recorded-fetch.ts'
import { rejection } from './rejection.ts'
import { answer, cut, startStub } from './stub-server.ts'

const text = 'Ü'.repeat(20_000)

test('a response above 16 KB is truncated; fetchResponse and fullResponse return all of it', async () => {
  const service = await startService()
  const { key } = await service.createPerson()
  const { fetch, sent } = recordedFetch()
  const client = createClient({ baseUrl: service.url, apiKey: key, fetch })
  const task = await client.tasks.run({ endpointId: 'test.echo', params: { text } })
  expect([typeof task.response, typeof task.responseUri]).toEqual(['string', 'string'])
  expect(await client.tasks.fetchResponse(task)).toEqual({ text })
  const { init, url } = sent.at(-1)!
  expect(url.href).toBe(task.responseUri)
  // The URL is signed and may point to a bucket.
  expect(new Headers(init.headers).get('authorization')).toBeNull()
  expect((await client.tasks.wait(task.id, { fullResponse: true })).response).toEqual({ text })
  const whole = await client.tasks.run({ endpointId: 'test.echo', params: { text } }, { fullResponse: true })
  expect(whole.response).toEqual({ text })
  expect(await client.tasks.fetchResponse({ response: { small: 1 } })).toEqual({ small: 1 })
  expect(await client.tasks.fetchResponse({ response: null })).toBeNull()
  await service.stop()
})

test('reports an expired link and retries after a broken connection', async () => {
  const refused = answer(403, '{"error":"Forbidden","message":"The link has expired.","statusCode":403}')
  const stub = await startStub(cut, answer(200, '{"a":1}'), refused, answer(200, 'no JSON'))
  const client = createClient({ baseUrl: stub.url, apiKey: 'key' })
  const task = { response: 'preview', responseUri: `${stub.url}/api/payloads/x` }
  expect(await client.tasks.fetchResponse(task)).toEqual({ a: 1 })
  expect(await rejection(client.tasks.fetchResponse(task))).toMatchObject({
    code: 'FORBIDDEN',
    message: 'The link has expired.',
  })
  expect(await rejection(client.tasks.fetchResponse(task))).toMatchObject({ code: 'BAD_RESPONSE', status: 200 })
  await expect(client.tasks.fetchResponse(task, { signal: AbortSignal.abort('enough') })).rejects.toBe('enough')
  await stub.stop()
})
