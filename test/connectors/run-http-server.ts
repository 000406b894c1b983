import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { createServer, type AddressInfo } from 'node:net'
import { openResources } from '../support/resources.ts'
import { startServer, type Answer, type TestServer } from './guarded-server.ts'
import { everything } from './run-agents.ts'

/** A client's message, with its request's headers. */
export type Message = { id?: number; method: string; params?: any; headers: Record<string, unknown> }
export type Handle = (response: ServerResponse, message: Message) => unknown

export const json = (response: ServerResponse, body: unknown, status = 200) =>
  void response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body))

export const result = (response: ServerResponse, { id }: Message, of: object) =>
  json(response, { jsonrpc: '2.0', id, result: of })

/** Sends a text result for a call. */
export const say = (response: ServerResponse, message: Message, text: string) =>
  result(response, message, { content: [{ type: 'text', text }] })

export const beginEvents = (response: ServerResponse) =>
  response.writeHead(200, { 'Content-Type': 'text/event-stream' })

/** A plain HTTP response. */
export const status =
  (code: number, body = '', type = 'text/plain'): Handle =>
  (response) =>
    void response.writeHead(code, { 'Content-Type': type }).end(body)

const tool = (name: string) => ({ name, description: `The tool ${name}.`, inputSchema: { type: 'object' } })

const handlers: Record<string, Handle> = {
  initialize: (response, message) => {
    const serverInfo = { name: 'stub', version: '1' }
    const capabilities = { tools: {} }
    response.setHeader('Mcp-Session-Id', 'session-of-the-stub')
    result(response, message, { protocolVersion: '2025-06-18', capabilities, serverInfo })
  },
  'tools/list': (response, message) => result(response, message, { tools: [tool('use'), tool('get-sum')] }),
  'tools/call': (response, message) => say(response, message, `used ${message.params.name}`),
}

/** Starts an MCP server over HTTP with custom handlers for some methods; `stopAll` stops it. */
export function startMcpServer(own: Record<string, Handle> = {}): Promise<TestServer & { host: string }> {
  const answer: Answer = (response, { body, headers, method }) => {
    if (method !== 'POST') return void response.writeHead(method === 'DELETE' ? 200 : 405).end()
    const message: Message = { ...(JSON.parse(body) as Message), headers }
    const handle = own[message.method] ?? own['*'] ?? handlers[message.method]
    if (handle) return handle(response, message)
    if (message.id === undefined) return void response.writeHead(202).end()
    const error = { code: -32601, message: 'Method not found' }
    json(response, { jsonrpc: '2.0', id: message.id, error })
  }
  return startServer(answer).then((server) => ({ ...server, host: `127.0.0.1:${server.port}` }))
}

/** Starts a server with the complete protocol, as a process on its own port. */
export async function startEverything(): Promise<{ url: string; host: string; stop: () => Promise<unknown> }> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as AddressInfo
  probe.close()
  const env = { ...process.env, PORT: String(port) }
  const child = spawn(process.execPath, [everything, 'streamableHttp'], { env, stdio: ['ignore', 'ignore', 'pipe'] })
  const name = `MCP server ${child.pid}`
  openResources.add(name)
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  const exited = once(child, 'exit').then(() => {
    process.off('exit', kill)
    openResources.delete(name)
  })
  await once(child.stderr, 'data')
  const stop = () => {
    kill()
    return exited
  }
  return { url: `http://127.0.0.1:${port}/mcp`, host: `127.0.0.1:${port}`, stop }
}
