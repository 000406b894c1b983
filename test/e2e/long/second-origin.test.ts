import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import type * as ClientModule from '../../../client/client.ts'
import { bundleClient } from '../../client/bundle-client.ts'
import { openResources } from '../../support/resources.ts'
import { testConsole, type OpenConsole } from '../open-console.ts'

declare const Errand: typeof ClientModule

/** Opens an empty page with the client on another origin, in the browser that is logged in to the console. */
async function openElsewhere(
  { page }: OpenConsole,
  run: (elsewhere: Page, origin: string) => Promise<void>,
): Promise<void> {
  const server = createServer((_, response) =>
    response.setHeader('Content-Type', 'text/html').end('<!doctype html><title>Elsewhere</title>'),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  openResources.add('a page of another origin')
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  try {
    const elsewhere = await page.context().newPage()
    await elsewhere.goto(origin)
    await elsewhere.addScriptTag({ content: `${(await bundleClient()).code}\nglobalThis.Errand = Errand` })
    await run(elsewhere, origin)
    await elsewhere.close()
  } finally {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    openResources.delete('a page of another origin')
  }
}

testConsole(
  'the client on another origin runs tasks, streams chats and reads error headers',
  async (opened) => {
    opened.allow(/status of 429/)
    const key = await opened.service.createKey(opened.visitor.userId)
    await openElsewhere(opened, async (page) => {
      const seen = await page.evaluate(
        async ({ baseUrl, apiKey }) => {
          const client = Errand.createClient({ baseUrl, apiKey, maxRetries: 0 })
          const task = await client.tasks.run({ endpointId: 'text.keywords', params: { text: 'one two two' } })
          const { sessionId } = await client.sessions.create({ agentId: 'assistant' })
          const types = new Set<string>()
          for await (const { type } of client.chat.stream({ sessionId, message: 'Hello' })) types.add(type)
          const error = await client.tasks
            .create({ endpointId: 'text.keywords', params: { text: 'three' } })
            .catch((thrown: { code: string; retryAfterSeconds: number; requestId: string }) => thrown)
          return { status: task.status, types: [...types], error: { ...error } }
        },
        { baseUrl: opened.service.url, apiKey: key },
      )
      expect(seen).toMatchObject({
        status: 'completed',
        types: expect.arrayContaining(['assistant_delta', 'done']),
        error: {
          code: 'RATE_LIMIT_EXCEEDED',
          retryAfterSeconds: expect.any(Number),
          requestId: expect.stringMatching(/^req_/),
        },
      })
    })
  },
  { limits: { executionsPerMinute: 2 } },
)

testConsole('a page of another origin may send trace headers', async (opened) => {
  const key = await opened.service.createKey(opened.visitor.userId)
  await openElsewhere(opened, async (page) => {
    const status = await page.evaluate(
      async ({ apiKey, url }) => {
        const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
        const response = await fetch(url, { headers: { Authorization: `Bearer ${apiKey}`, traceparent } })
        return response.status
      },
      { apiKey: key, url: `${opened.service.url}/api/account` },
    )
    expect(status).toBe(200)
  })
})

testConsole("a page of another origin cannot read or change anything with the visitor's login", async (opened) => {
  opened.allow(/CORS policy|net::ERR_FAILED|status of (?:401|403|415)/)
  const { service } = opened
  await openElsewhere(opened, async (page) => {
    const outcomes = await page.evaluate(async (url) => {
      const task = JSON.stringify({ endpointId: 'demo.fail', params: {} })
      const requests: [string, RequestInit][] = [
        ['/api/account', { credentials: 'include' }],
        [
          '/api/tasks',
          { credentials: 'include', method: 'POST', body: task, headers: { 'Content-Type': 'application/json' } },
        ],
        // Form submissions need no preflight.
        ['/api/tasks', { credentials: 'include', method: 'POST', body: task, mode: 'no-cors' }],
        ['/api/logout', { credentials: 'include', method: 'POST', mode: 'no-cors' }],
        [
          '/trpc/keys.create',
          { credentials: 'include', method: 'POST', body: '{"json":{"name":"stolen"}}', mode: 'no-cors' },
        ],
      ]
      return await Promise.all(
        requests.map(async ([path, init]) => {
          try {
            const response = await fetch(url + path, init)
            return `${response.type} ${response.status}`
          } catch {
            return 'refused by the browser'
          }
        }),
      )
    }, service.url)
    expect(outcomes).toEqual(['refused by the browser', 'refused by the browser', 'opaque 0', 'opaque 0', 'opaque 0'])
  })
  // The visitor is still logged in, and nothing was created.
  const own = await opened.page.evaluate(async () => ({
    tasks: (await (await fetch('/api/tasks')).json()).total as number,
    keys: (await (await fetch('/api/keys')).json()).keys.length as number,
  }))
  expect(own).toEqual({ tasks: 0, keys: 0 })
})
