import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { bytesOf, listen, startProvider } from './hostile-provider.ts'

// Servers of the attackers: a model provider, MCP servers over HTTP, an HTTP agent's service, and a name server that
// never answers.

export type HostileServers = { providerUrl: string; mcpHost: string; agentUrl: string; nameServer: string }

/** A secret with as many words as fit, of one or two letters each. Every response contains all of them. */
export const wordySecret = Array.from({ length: 2700 }, (_, n) => n.toString(36)).join(' ')

const large = Buffer.alloc(9_900_000, `${wordySecret} `)
const answerText = 'x1'.repeat(950_000)

type Message = { id?: number; method: string; params?: { name?: string } }

const tool = (name: string, description = `The tool ${name}.`) => ({
  name,
  description,
  inputSchema: { type: 'object', properties: {} },
})
const toolNames = ['big', 'hang', 'drop', 'garbage', 'stop', 'brief']

/** Returns tool definitions of about this many bytes in total. */
function definitions(bytes: number): object[] {
  const more = 400
  const text = 'd'.repeat(Math.max(0, bytes / more - 120))
  return [...toolNames.map((name) => tool(name)), ...Array.from({ length: more }, (_, n) => tool(`more-${n}`, text))]
}

const listed: Record<string, object[]> = {
  '/plain': toolNames.map((name) => tool(name)),
  '/definitions': definitions(450_000),
  '/most-definitions': definitions(980_000),
}

function beginJson(response: ServerResponse): void {
  response.writeHead(200, { 'Content-Type': 'application/json' })
}

function result(response: ServerResponse, { id }: Message, of: object): void {
  beginJson(response)
  response.end(JSON.stringify({ jsonrpc: '2.0', id, result: of }))
}

/** Sends the beginning of a large response. */
function beginLarge(response: ServerResponse, { id }: Message): void {
  beginJson(response)
  response.write(`{"jsonrpc":"2.0","id":${id},"result":{"content":[{"type":"text","text":"`)
}

const calls: Record<string, (response: ServerResponse, message: Message) => void> = {
  big: (response, message) => result(response, message, { content: [{ type: 'text', text: answerText }] }),
  brief: (response, message) => result(response, message, { content: [{ type: 'text', text: 'Done.' }] }),
  hang: () => {},
  drop: (response) => void response.destroy(),
  garbage: (response) => {
    beginJson(response)
    response.end('{"garbage":'.repeat(100_000))
  },
  stop: (response, message) => {
    beginLarge(response, message)
    response.write(large.subarray(0, 9_000_000))
  },
}

async function answerMcp(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = request.url ?? ''
  const body = await bytesOf(request)
  if (request.method !== 'POST') return void response.writeHead(request.method === 'DELETE' ? 200 : 405).end()
  const message = JSON.parse(body.toString()) as Message
  if (message.id === undefined) return void response.writeHead(202).end()
  if (message.method === 'initialize') {
    const serverInfo = { name: 'hostile', version: '1' }
    return result(response, message, { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo })
  }
  if (message.method === 'tools/list') {
    if (path.startsWith('/stops')) return calls['stop']!(response, message)
    if (!path.startsWith('/large')) return result(response, message, { tools: listed[path] ?? listed['/plain']! })
    beginJson(response)
    response.write(`{"jsonrpc":"2.0","id":${message.id},"error":{"code":-32000,"message":"`)
    response.write(large)
    return void response.end('"}}')
  }
  const call = calls[message.params?.name ?? '']
  if (message.method === 'tools/call' && call) return call(response, message)
  beginJson(response)
  response.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, error: { code: -32601, message: 'Method not found' } }))
}

/** Sends an endless task result or chat reply. */
async function answerAgent(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const isTask = (await bytesOf(request)).includes('"type":"task"')
  response.writeHead(200, { 'Content-Type': isTask ? 'application/json' : 'application/x-ndjson' })
  const line = isTask ? 'x'.repeat(65_536) : `{"type":"text","delta":"${'x'.repeat(500)}"}\n`.repeat(100)
  if (isTask) response.write('{"text":"')
  while (!response.destroyed) {
    if (!response.write(line)) await room(response)
  }
}

/** Resolves when the stream drains or the client leaves. */
async function room(response: ServerResponse): Promise<void> {
  const left = new AbortController()
  const options = { signal: left.signal }
  await Promise.race([once(response, 'drain', options), once(response, 'close', options)]).finally(() => left.abort())
}

export async function startHostileServers(): Promise<HostileServers> {
  const provider = await startProvider()
  const mcp = await listen(answerMcp)
  const agent = await listen(answerAgent)
  const names = createSocket('udp4').bind(0, '127.0.0.1')
  await once(names, 'listening')
  return {
    providerUrl: provider.url,
    mcpHost: new URL(mcp.url).host,
    agentUrl: agent.url,
    nameServer: `127.0.0.1:${names.address().port}`,
  }
}
