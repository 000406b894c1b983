import { expect, test } from 'vitest'
import { createClient } from '../../client/client.ts'
import { withRenewedKey } from '../../client/renewed-key.ts'
import { rejection } from './rejection.ts'
import { startStub, type StubAnswer } from './stub-server.ts'

const account: StubAnswer = (response) => void response.end(JSON.stringify({ result: { data: { json: {} } } }))
const expired: StubAnswer = (response) =>
  void response
    .writeHead(401, { 'content-type': 'application/json' })
    .end(
      JSON.stringify({ error: { json: { message: 'Expired', data: { errorCode: 'UNAUTHORIZED', httpStatus: 401 } } } }),
    )

const keysOf = (requests: readonly { headers: { authorization?: string | undefined } }[]) =>
  requests.map(({ headers }) => headers.authorization)

test('gets a key once, and a new one after a 401', async () => {
  const stub = await startStub(account, account, expired, account)
  let made = 0
  const client = createClient({ baseUrl: stub.url, apiKey: () => Promise.resolve(`key-${++made}`) })
  for (let call = 0; call < 3; call++) await client.account.get()
  expect(keysOf(stub.requests)).toEqual(['Bearer key-1', 'Bearer key-1', 'Bearer key-1', 'Bearer key-2'])
  await stub.stop()
})

test('a second 401 is an error, and the next call asks for a key again', async () => {
  const stub = await startStub(expired, expired, expired, account)
  let made = 0
  const client = createClient({ baseUrl: stub.url, apiKey: () => `key-${++made}` })
  expect(await rejection(client.account.get())).toMatchObject({ code: 'UNAUTHORIZED' })
  await client.account.get()
  expect(keysOf(stub.requests)).toEqual(['Bearer key-1', 'Bearer key-2', 'Bearer key-2', 'Bearer key-3'])
  await stub.stop()
})

test('calls at the same time share one key', async () => {
  const stub = await startStub(account)
  let made = 0
  const client = createClient({ baseUrl: stub.url, apiKey: async () => `key-${++made}` })
  await Promise.all(
    [client.account.get(), client.agents.list(), client.tasks.list()].map((call) => call.catch(() => {})),
  )
  expect(made).toBe(1)
  await stub.stop()
})

test('requests that are rejected at the same time share one new key', async () => {
  const sent: unknown[] = []
  let made = 0
  const fetchFresh = withRenewedKey(
    async (_url, { headers }) => {
      const { authorization } = headers as Record<string, string>
      sent.push(authorization)
      return new Response(null, { status: authorization === 'Bearer key-1' ? 401 : 200 })
    },
    async () => `key-${++made}`,
  )
  const responses = await Promise.all(['/a', '/b', '/c'].map((url) => fetchFresh(url, {})))
  expect(responses.map(({ status }) => status)).toEqual([200, 200, 200])
  expect(sent).toEqual([...Array(3).fill('Bearer key-1'), ...Array(3).fill('Bearer key-2')])
})

test.each([403, 429, 500])('does not get another key after the status %i', async (status) => {
  let made = 0
  const fetchFresh = withRenewedKey(
    async () => new Response(null, { status }),
    async () => `key-${++made}`,
  )
  expect((await fetchFresh('/a', {})).status).toBe(status)
  expect(made).toBe(1)
})

test('a failure to get a key rejects the call and is not remembered', async () => {
  const stub = await startStub(account)
  const failures = [new Error('The server of the product is down.')]
  const apiKey = async () => {
    const failure = failures.pop()
    if (failure) throw failure
    return 'key'
  }
  const client = createClient({ baseUrl: stub.url, apiKey, maxRetries: 0 })
  const failed = await rejection(client.account.get())
  expect(String(failed.message) + String(failed.cause)).toContain('The server of the product is down.')
  await client.account.get()
  expect(keysOf(stub.requests)).toEqual(['Bearer key'])
  await stub.stop()
})
