import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { getRequestListener } from '@hono/node-server'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import type { HttpBindings } from '@hono/node-server'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import { afterEach, expect, test } from 'vitest'
import { createClient } from '../../../../client/client.ts'
import { createErrand, type Errand } from '../../../../server/app/package-entry.ts'
import { say } from '../../../support/chat-agents.ts'
import config from '../../../support/test-agents.ts'
import { newDataDir } from '../../../support/test-service.ts'
import { writeProject } from '../../../runner/reload-project.ts'

// A service inside other servers, each of which parses JSON bodies for its own routes.

const closers: (() => unknown)[] = []

afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

type Opened = { errand: Errand; url: string; dataDir: string }

/** Listens with what `mount` returns for the service, which is at this path. */
async function embed(mount: (errand: Errand) => RequestListener, path = '/errand'): Promise<Opened> {
  let listener: RequestListener = (_, response) => response.end()
  const server = createServer((request, response) => listener(request, response)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const dataDir = newDataDir()
  const errand = await createErrand({ config, dataDir, baseUrl: url + path })
  closers.push(
    () => server.close(),
    () => server.closeAllConnections(),
    () => errand.close(),
  )
  listener = mount(errand)
  return { errand, url, dataDir }
}

const isBelow = ({ basePath }: Errand, url = '') => url === basePath || url.startsWith(`${basePath}/`)

/** Servers by name. Each answers `POST /own` with the JSON that it was sent. */
const servers: Record<string, (errand: Errand) => RequestListener> = {
  'node:http': (errand) => async (request, response) => {
    if (isBelow(errand, request.url)) return errand.handler(request, response)
    response.end(Buffer.concat(await request.toArray()))
  },
  Express: (errand) => {
    const app = express()
    app.use(errand.basePath, errand.handler)
    app.use(express.json())
    app.post('/own', (request, response) => void response.json(request.body))
    return app
  },
  Fastify: (errand) => {
    const app = fastify()
    app.addHook('onRequest', (request, reply, done) => {
      if (!isBelow(errand, request.url)) return done()
      reply.hijack()
      errand.handler(request.raw, reply.raw)
    })
    app.post('/own', (request) => request.body)
    closers.push(() => app.close())
    return (request, response) => void app.ready(() => app.routing(request, response))
  },
  Hono: (errand) => {
    const app = new Hono<{ Bindings: HttpBindings }>()
    app.all(`${errand.basePath}/*`, ({ env }) => {
      errand.handler(env.incoming, env.outgoing)
      return RESPONSE_ALREADY_SENT
    })
    app.post('/own', async (context) => context.json(await context.req.json()))
    const listener = getRequestListener(app.fetch)
    return (request, response) => void listener(request, response)
  },
}

async function openUser({ client }: Errand, externalId: string) {
  const { id: userId } = await client.users.getOrCreate({ externalId })
  await client.users.credit({ userId, amountUsd: '1', reason: 'Test' })
  return client.asUser(externalId)
}

test.for(Object.keys(servers))('runs paid tasks and streams chats inside %s', async (name) => {
  const { errand, url } = await embed(servers[name]!)
  const inProcess = await openUser(errand, 'ada')
  const { token } = await inProcess.clientTokens.create({ scopes: ['read', 'execute'] })
  const remote = createClient({ baseUrl: url + errand.basePath, apiKey: token })
  for (const client of [inProcess, remote]) {
    const task = await client.tasks.run({ endpointId: 'test.echo', params: { text: 'x'.repeat(100_000) } })
    expect(task).toMatchObject({ status: 'completed', costUsd: '0.0100' })
    const { sessionId } = await client.sessions.create({ agentId: 'talk' })
    const types: string[] = []
    for await (const { type } of client.chat.stream({ sessionId, message: say({ do: 'text', delta: 'hello' }) }))
      types.push(type)
    expect(types.at(-1)).toBe('done')
  }
  const own = await fetch(`${url}/own`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: '{"a":1}',
  })
  expect(await own.json()).toEqual({ a: 1 })
  expect((await fetch(`${url}/errandx`, { method: 'GET' })).headers.get('x-request-id')).toBeNull()
})

test('a body that was parsed before is refused with the remedy', async () => {
  const { errand, url } = await embed((one) => {
    const app = express()
    app.use(express.json())
    app.use(one.basePath, one.handler)
    return app
  })
  const answer = await fetch(`${url + errand.basePath}/api/tasks`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: '{}',
  })
  expect(answer.status).toBe(500)
  expect(await answer.text()).toContain("Mount Errand's handler before any body parser.")
})

test('is at the path of its URL, nested or at the root, whether or not a proxy removes the path', async () => {
  for (const path of ['', '/a/b', '/a/b/']) {
    const { errand, url } = await embed((one) => one.handler, path)
    expect(errand.basePath).toBe(path.replace(/\/$/, ''))
    const below = url + errand.basePath
    for (const at of [`${below}/healthz`, `${url}/healthz`]) expect((await fetch(at)).status, at).toBe(200)
    expect((await fetch(`${below}/api/nothing`)).status).toBe(404)
    const document = (await (await fetch(`${below}/openapi.json`)).json()) as { servers: { url: string }[] }
    expect(document.servers[0]!.url).toBe(errand.basePath || '/')
    const page = await (await fetch(`${below}/docs`)).text()
    expect(page).toContain(`href="${errand.basePath}/docs/swagger-ui.css"`)
    const moved = await fetch(`${below}/tasks/`, { redirect: 'manual', headers: { Accept: 'text/html' } })
    expect(moved.headers.get('location')).toBe(`${errand.basePath}/tasks`)
  }
  await expect(createErrand({ config, baseUrl: 'shop.example.com' })).rejects.toThrow(
    'baseUrl: "shop.example.com" must be an http or https URL',
  )
})

test('one service owns a data folder, and a later one continues with the same key and data', async () => {
  const { dataDir, errand } = await embed((one) => one.handler)
  await openUser(errand, 'ada')
  const options = { config, dataDir, baseUrl: 'http://127.0.0.1/errand' }
  await expect(createErrand(options)).rejects.toThrow('Stop it, or choose another directory with dataDir.')
  await errand.close()
  const later = await createErrand(options)
  try {
    expect(await later.client.users.getByExternalId({ externalId: 'ada' })).toMatchObject({ balanceUsd: '1.0000' })
    expect((await later.client.asUser('ada').transactions.list()).total).toBe(1)
  } finally {
    await later.close()
  }
})

test('reload() loads the configuration file again, and refuses a configuration without a file', async () => {
  const { errand: ofObject } = await embed((one) => one.handler)
  await expect(ofObject.reload()).rejects.toThrow('passed as an object cannot be reloaded')
  const folder = newDataDir()
  const file = writeProject(folder, { version: 'old' })
  const errand = await createErrand({ config: file, dataDir: join(folder, 'data'), baseUrl: 'http://127.0.0.1/errand' })
  closers.push(() => errand.close())
  await openUser(errand, 'ada')
  const ada = errand.client.asUser('ada')
  const versionNow = async () => (await ada.tasks.run({ endpointId: 'desk.tell', params: {} })).response
  expect(await versionNow()).toMatchObject({ version: 'old' })
  writeProject(folder, { version: 'new' })
  expect(await errand.reload()).toEqual({ agents: ['desk'], needsRestart: [] })
  expect(await versionNow()).toMatchObject({ version: 'new', isMainThread: false })
})
