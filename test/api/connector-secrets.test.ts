import { rmSync } from 'node:fs'
import { expect, test } from 'vitest'
import { openAccount } from '../runner/process-client.ts'
import { keptBytes } from '../support/test-engine.ts'
import { startProcess } from '../support/test-process.ts'
import { newDataDir } from '../support/test-service.ts'
import { startStubMcpServer } from './stub-mcp-server.ts'

const [token, header, later] = ['hunter2-in-a-token', 'hunter2 in "a" \\header', 'hunter2-given-later']

test('secrets never appear in responses, logs or files, even if a server echoes them', async () => {
  const dataDir = newDataDir()
  const { key, userId } = await openAccount(dataDir)
  const server = await startStubMcpServer({
    tools: (headers) => {
      const said = Object.values(headers).join(', ')
      const inputSchema = { type: 'object', properties: { [said]: { enum: [said] } } }
      return [{ name: 'leak', title: said, description: `It knows ${said}.`, inputSchema }]
    },
  })
  const rude = await startStubMcpServer({
    refuse: ({ headers }, response) => response.writeHead(500).end(JSON.stringify(headers)),
  })
  const env = { ERRAND_CONNECTOR_PRIVATE_HOSTS: '127.0.0.1', ERRAND_LOG_LEVEL: 'debug' }
  const service = await startProcess({ dataDir, env })
  const told: string[] = []
  const call = async (request: string, body?: object) => {
    const [method, path] = request.split(' ') as [string, string]
    const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' }
    const init = { method, headers, ...(body && { body: JSON.stringify(body) }) }
    const response = await fetch(service.url + path, init)
    const text = await response.text()
    told.push(text)
    return { status: response.status, body: JSON.parse(text) }
  }
  const auth = {
    bearer: { type: 'bearer', token },
    headers: { type: 'headers', headers: { 'X-Api-Key': header, 'X-Other': later } },
  }
  for (const [name, url] of [
    ['good', server.url],
    ['rude', rude.url],
  ] as const) {
    for (const type of ['bearer', 'headers'] as const) {
      const created = await call('POST /api/connectors', { name: `${name} ${type}`, url, auth: auth[type] })
      const at = `/api/connectors/${created.body.id}`
      expect(created.status).toBe(200)
      expect((await call(`POST ${at}/test`)).body.status).toBe(name === 'good' ? 'ok' : 'failed')
      expect((await call(`GET ${at}/tools`)).status).toBe(name === 'good' ? 200 : 424)
      expect((await call(`PATCH ${at}`, { auth: { type: 'bearer', token: later } })).status).toBe(200)
      await call(`POST ${at}/test`)
      await call(`GET ${at}`)
      // These requests contain secrets and are rejected.
      expect((await call(`PATCH ${at}`, { auth: { type: 'bearer', token: `${token}\n` } })).status).toBe(400)
      expect((await call(`PATCH ${at}`, { auth: { type: token } })).status).toBe(400)
      expect((await call('POST /api/connectors', { name: `${name} ${type}`, url, auth: auth[type] })).status).toBe(409)
      const input = { json: { name: 'x', url: `https://${token}@example.com`, auth: auth[type] } }
      expect((await call('POST /trpc/connectors.create', input)).status).toBe(400)
    }
  }
  await call('GET /api/connectors')
  // The service sent the secrets to both servers, so a server could echo them.
  const sent = [...server.seen, ...rude.seen].flatMap((headers) => [headers.authorization, headers['x-api-key']])
  for (const secret of [`Bearer ${token}`, `Bearer ${later}`, header]) expect(sent).toContain(secret)

  const running = await keptBytes(dataDir)
  expect(await service.end('SIGTERM')).toBe(0)
  const stopped = await keptBytes(dataDir)
  await server.stop()
  await rude.stop()
  expect(told.length).toBeGreaterThan(30)
  expect(told.join('\n')).not.toMatch(/hunter2/)
  expect(service.log()).toMatch(/listening/)
  expect(service.log()).not.toMatch(/hunter2/)
  for (const files of [running, stopped]) {
    expect(
      [...files.values()].some((bytes) => bytes.includes(userId)),
      'the files were read',
    ).toBe(true)
    for (const [name, bytes] of files) expect(bytes.includes('hunter2'), name).toBe(false)
  }
  rmSync(dataDir, { recursive: true })
})
