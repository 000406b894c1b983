import { createContext, runInContext } from 'node:vm'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import type * as ClientModule from '../../client/client.ts'
import { startService } from '../support/test-service.ts'
import { bundleClient } from './bundle-client.ts'
import { createBrowserFetch } from './browser-fetch.ts'
import { delta, done, hello, startStream, toLine } from './chat-answers.ts'
import { startStub } from './stub-server.ts'

/** Globals of every web page, without Node's. */
const webNames =
  'AbortController AbortSignal Blob DOMException File FormData Headers Request Response TextDecoder TextEncoder URL URLSearchParams console crypto performance queueMicrotask'

function webGlobals(fetch: unknown): Record<string, unknown> {
  return {
    ...Object.fromEntries(webNames.split(' ').map((name) => [name, Reflect.get(globalThis, name)])),
    fetch,
    // Returns a number, as timers in browsers do.
    setTimeout: (work: () => void, ms: number) => Number(setTimeout(work, ms)),
    clearTimeout: (timer: number | undefined) => clearTimeout(timer),
  }
}

async function loadBundle(fetch: unknown): Promise<typeof ClientModule> {
  const context = createContext(webGlobals(fetch))
  runInContext(`${(await bundleClient()).code}\nglobalThis.Errand = Errand`, context)
  return context['Errand'] as typeof ClientModule
}

test('the bundle is small and contains no Node or server code', async () => {
  const { code, modules } = await bundleClient()
  expect(code).not.toMatch(/["'`]node:|\brequire\(|\bprocess\b|\bBuffer\b|\b__dirname\b|\bimport\.meta\b/)
  expect(modules.some((path) => path.endsWith('/client/wait-for-task.ts'))).toBe(true)
  expect(modules.filter((path) => path.includes('/server/') && !path.includes('/node_modules/'))).toEqual([])
  expect(gzipSync(code).length).toBeLessThanOrEqual(10 * 1024)
})

test('the bundle works in a page of another origin', async () => {
  const service = await startService({ limits: { executionsPerMinute: 2 } })
  const { key } = await service.createPerson()
  const { fetch, preflights } = createBrowserFetch('https://app.example.com')
  const { createClient, ErrandClientError } = await loadBundle(fetch)
  const client = createClient({ baseUrl: service.url, apiKey: key, maxRetries: 0 })

  const task = await client.tasks.run({ endpointId: 'test.echo', params: { from: 'a page' } })
  expect(task).toMatchObject({ status: 'completed', response: { from: 'a page' } })
  const [account, tasks] = await Promise.all([client.account.get(), client.tasks.list()])
  expect(account.balanceUsd).toBe('9.9900')
  expect(tasks.total).toBe(1)
  expect(preflights).toEqual(
    expect.arrayContaining(['POST authorization, content-type, idempotency-key', 'GET authorization']),
  )
  await client.tasks.create({ endpointId: 'test.echo', params: {} })
  const error: unknown = await client.tasks.create({ endpointId: 'test.echo', params: {} }).catch((thrown) => thrown)
  expect(error).toBeInstanceOf(ErrandClientError)
  expect(error).toMatchObject({
    code: 'RATE_LIMIT_EXCEEDED',
    status: 429,
    retryAfterSeconds: expect.any(Number),
    requestId: expect.stringMatching(/^req_/),
  })
  await service.stop()
})

test('the bundle streams a chat even if the body is not async iterable, as in Safari', async () => {
  const received = Promise.withResolvers<void>()
  const stub = await startStub(async (response) => {
    startStream(response).write(toLine(delta('Grüße 👋')))
    await received.promise
    response.end(toLine(done))
  })
  const fetchBody = async (url: string, init: RequestInit) => {
    const response = await fetch(url, init)
    Object.defineProperty(response.body, Symbol.asyncIterator, { value: undefined })
    return response
  }
  const { createClient } = await loadBundle(fetchBody)
  const events: unknown[] = []
  for await (const event of createClient({ baseUrl: stub.url, apiKey: 'key' }).chat.stream(hello)) {
    events.push(event)
    received.resolve()
  }
  expect(events).toEqual([delta('Grüße 👋'), done])
  await stub.stop()
})
