import { rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, test } from 'vitest'
import { openAccount } from '../../../runner/process-client.ts'
import { keptBytes } from '../../../support/test-engine.ts'
import { startProcess } from '../../../support/test-process.ts'
import { newDataDir, type Person } from '../../../support/test-service.ts'
import { stopAll } from '../../guarded-server.ts'
import { operatorKey, operatorPlace, type ToolUse } from '../../run-agents.ts'
import { connect, createTask, endOf, expectSound, startWorld, talkWith, type World } from '../../run-checks.ts'
import { json, result, say, startMcpServer, status, type Handle } from '../../run-http-server.ts'

// A server knows its user's and the operator's secrets, and may repeat them in any response.

afterEach(stopAll)

const token = 'users-token-8a7b6c5d'
const bearer = { type: 'bearer', token }

/** Runs these calls, and returns everything that the service reports, stores and sends to the model provider. */
async function tellAll(world: World, person: Person, { calls, id }: { calls: ToolUse[]; id: string }): Promise<string> {
  const { provider, service } = world
  const told: unknown[] = []
  const connectorIds = [id]
  const ways = ['code', 'model'].map(async (agentId) => {
    const taskId = await createTask(world, person, { endpointId: `${agentId}.call`, params: { calls }, connectorIds })
    const talker = await talkWith(world, { agentId, connectorIds, person })
    const [task, events] = await Promise.all([endOf(world, person, taskId), talker.chat(JSON.stringify(calls))])
    told.push(task, events, await talker.messages(), await talker.session())
  })
  await Promise.all(ways)
  for (const path of ['transactions', 'connectors', `connectors/${id}`, `connectors/${id}/tools`, 'tasks']) {
    told.push((await service.get(`/api/${path}`, person.key)).body)
  }
  told.push((await service.post(`/api/connectors/${id}/test`, {}, { key: person.key })).body)
  const kept = [...(await keptBytes(service.dataDir)).values()].map((bytes) => bytes.toString('latin1'))
  expect(kept.join('')).toContain(person.userId)
  return JSON.stringify([told, provider.bodies, kept])
}

const uses = [
  { server: 'keyed', name: 'get-env', says: operatorPlace },
  { server: 'leaky', name: 'tell', says: 'I know … and …' },
  { server: 'leaky', name: 'tell-as-error', says: 'Not with … and …' },
  { server: 'leaky', name: 'tell-and-exit', says: 'exited with code 3' },
  { server: 'leaky', name: 'hush', says: 'Knows … and …' },
]

test.for(uses)("hides secrets that the server $server repeats in '$name'", async (use) => {
  const { name, says, server } = use
  const world = await startWorld()
  const person = await world.service.createPerson()
  const id = await connect(world, person, { server, auth: bearer })
  const told = await tellAll(world, person, { calls: [{ name }], id })
  expect(told).toContain(says)
  expect(told).not.toContain(token)
  expect(told).not.toContain(operatorKey)
  await expectSound(world)
  await world.stop()
})

const basic = 'dXNlcjpwYXNzd29yZA=='
const headersOf = ({ headers }: { headers: Record<string, unknown> }) =>
  `${String(headers['x-api-key'])} and ${String(headers['authorization'])} and ${basic}`
const leaks: { method: string; what: string; says: string; handle: Handle }[] = [
  {
    method: 'tools/call',
    what: 'its text',
    says: '… and … and …',
    handle: (response, message) => say(response, message, headersOf(message)),
  },
  {
    method: 'tools/call',
    what: 'an error',
    says: '… and … and …',
    handle: (response, message) => {
      const error = { code: -32000, message: headersOf(message), data: headersOf(message) }
      json(response, { jsonrpc: '2.0', id: message.id, error })
    },
  },
  {
    method: 'tools/list',
    what: 'descriptions',
    says: '… and … and …',
    handle: (response, message) => {
      const told = headersOf(message)
      const inputSchema = { type: 'object', properties: { a: { type: 'string', description: told } } }
      result(response, message, { tools: [{ name: 'use', title: told, description: told, inputSchema }] })
    },
  },
  {
    method: 'tools/call',
    what: 'a page of HTTP 500',
    says: 'The server responded with HTTP 500. Try again later.',
    handle: (response, message) => status(500, headersOf(message))(response, message),
  },
  {
    method: 'initialize',
    what: 'a page of HTTP 401',
    says: 'The server rejected the credentials (HTTP 401). Update them in the connector.',
    handle: (response, message) => status(401, headersOf(message))(response, message),
  },
]

test.for(leaks)('hides secrets that $method repeats over HTTP in $what', async (leak) => {
  const { handle, method, says } = leak
  const server = await startMcpServer({ [method]: handle })
  const world = await startWorld({ privateHosts: [server.host] })
  const person = await world.service.createPerson()
  const auth = { type: 'headers', headers: { 'X-Api-Key': token, Authorization: `Basic ${basic}` } }
  const id = await connect(world, person, { url: server.origin, auth })
  const told = await tellAll(world, person, { calls: [{ name: 'use' }], id })
  expect(server.requests[0]!.headers).toMatchObject({ 'x-api-key': token, authorization: `Basic ${basic}` })
  expect(told).toContain(says)
  expect(told).not.toContain(token)
  expect(told).not.toContain(basic)
  await expectSound(world)
  await world.stop()
})

test('a server process logs no secrets', async () => {
  const dataDir = newDataDir()
  const config = fileURLToPath(new URL('../../run-agents.ts', import.meta.url))
  const server = await startProcess({ dataDir, config })
  const { key } = await openAccount(dataDir)
  const send = async (path: string, body: object) => {
    const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' }
    const answer = await fetch(server.url + path, { method: 'POST', headers, body: JSON.stringify(body) })
    expect(answer.status).toBe(200)
    return await answer.text()
  }
  const { id } = JSON.parse(await send('/api/connectors', { name: 'Leaky', server: 'leaky', auth: bearer }))
  const { sessionId } = JSON.parse(await send('/api/sessions', { agentId: 'code', connectorIds: [id] }))
  for (const name of ['tell', 'tell-as-error', 'tell-and-exit']) {
    const told = await send('/api/chat', { sessionId, message: JSON.stringify([{ name }]) })
    expect(told).toContain('"type":"tool_call"')
    expect(told).not.toContain(token)
  }
  await send(`/api/connectors/${id}/test`, {})
  expect(await server.end('SIGTERM')).toBe(0)
  expect(server.log()).not.toBe('')
  expect(server.log()).not.toContain(token)
  expect(server.log()).not.toContain(operatorKey)
  rmSync(dataDir, { recursive: true })
})
