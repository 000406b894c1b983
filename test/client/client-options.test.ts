import { expect, test } from 'vitest'
import { createClient, ErrandClientError, type ErrandClientOptions } from '../../client/client.ts'
import { rejection, rejections } from './rejection.ts'

const good = { baseUrl: 'http://127.0.0.1:1', apiKey: 'errand_sk_secret' }

function refusedOptions(options: Record<string, unknown>): ErrandClientError {
  try {
    createClient(options as ErrandClientOptions)
  } catch (error) {
    if (error instanceof ErrandClientError) return error
    throw error
  }
  throw new Error('the options were accepted')
}

test('INVALID_ARGUMENT names the invalid option', () => {
  const baseUrls = [
    '',
    'errand.example.com',
    '/errand',
    'ftp://x',
    'http://u:p@x',
    'http://x/?a=1',
    'http://x/#a',
    7,
    undefined,
  ]
  for (const baseUrl of baseUrls) {
    expect(refusedOptions({ ...good, baseUrl }), String(baseUrl)).toMatchObject({
      code: 'INVALID_ARGUMENT',
      status: undefined,
      details: [{ path: 'baseUrl' }],
    })
  }
  for (const requestTimeoutMs of [0, -1, NaN, '5']) {
    expect(refusedOptions({ ...good, requestTimeoutMs }).details).toMatchObject([{ path: 'requestTimeoutMs' }])
  }
  for (const maxRetries of [-1, 1.5, NaN, '2']) {
    expect(refusedOptions({ ...good, maxRetries }).details).toMatchObject([{ path: 'maxRetries' }])
  }
  for (const name of ['fetch', 'onRequest', 'onResponse', 'onRetry']) {
    expect(refusedOptions({ ...good, [name]: 'fetch' }).details).toMatchObject([{ path: name }])
  }
  for (const defaultHeaders of [{ 'two words': 'x' }, { x: 'line\nbreak' }]) {
    expect(refusedOptions({ ...good, defaultHeaders }).details).toMatchObject([{ path: 'defaultHeaders' }])
  }
})

test('rejects an invalid key without quoting it', () => {
  for (const apiKey of ['', 'with space', 'line\nbreak', 'schlüssel', ' errand_sk_secret', undefined, 12345]) {
    const { code, message } = refusedOptions({ ...good, apiKey })
    expect(code).toBe('INVALID_ARGUMENT')
    expect(message).toBe('apiKey: Must be an API key, with only visible ASCII characters and no spaces')
  }
})

test('sends the key as a bearer token, and nothing if it is null', async () => {
  for (const [apiKey, expected] of [
    ['errand_sk_secret', 'Bearer errand_sk_secret'],
    [null, null],
  ] as const) {
    const sent: (string | null)[] = []
    const fetch = (_url: string, init: RequestInit) => (
      sent.push(new Headers(init.headers).get('Authorization')),
      Promise.reject(new Error('offline'))
    )
    const client = createClient({ ...good, apiKey, fetch })
    await rejection(client.account.get())
    await rejection(client.users.credit({ userId: 'user_1', amountUsd: '1', reason: 'Top-up' }))
    await rejection(client.chat.text({ sessionId: 'ses_1', message: 'hello' }))
    expect(sent.length).toBeGreaterThanOrEqual(3)
    expect(new Set(sent)).toEqual(new Set([expected]))
  }
})

test('accepts a URL object, a path and trailing slashes', async () => {
  for (const baseUrl of [new URL('http://x.example/a/'), 'http://x.example/a', 'http://x.example/a//']) {
    const asked: string[] = []
    const fetch = (url: string) => (asked.push(url), Promise.reject(new Error('offline')))
    await rejection(createClient({ baseUrl, apiKey: 'key', fetch }).account.get())
    expect(asked[0]).toMatch(/^http:\/\/x\.example\/a\/trpc\/account\.get\?/)
  }
})

test('rejects invalid input with INVALID_ARGUMENT before sending', async () => {
  let requests = 0
  const client = createClient({ ...good, fetch: () => (requests++, Promise.reject(new Error('offline'))) })
  const circle: Record<string, unknown> = {}
  circle['self'] = circle
  const input = { endpointId: 'test.echo', params: {} }
  const calls = [
    client.tasks.create({ ...input, params: circle }),
    client.tasks.run({ ...input, params: { n: 1n } }),
    client.tasks.create(input, { idempotencyKey: '' }),
    client.tasks.run(input, { idempotencyKey: 'two words' }),
    client.tasks.create(input, { idempotencyKey: 'x'.repeat(256) }),
    client.tasks.wait('task_1', { timeoutMs: 0 }),
    client.tasks.run(input, { timeoutMs: NaN }),
  ]
  for (const error of await rejections(calls)) {
    expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', status: undefined })
  }
  expect(requests).toBe(0)
})

test('neither the client nor an error reveals the key', async () => {
  const { inspect } = await import('node:util')
  const client = createClient({ ...good, fetch: () => Promise.reject(new Error('offline')) })
  const error = await rejection(client.account.get())
  for (const value of [client, error]) {
    expect(inspect(value, { depth: 10, showHidden: true })).not.toContain(good.apiKey)
    expect(JSON.stringify(value)).not.toContain(good.apiKey)
  }
})
