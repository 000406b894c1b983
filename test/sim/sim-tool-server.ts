import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Behaviors of a user's own MCP server. The URL selects one. */
export const toolServerKinds = ['works', 'long', 'large', 'wordy', 'drops', 'garbage', 'hangs'] as const
export type ToolServerKind = (typeof toolServerKinds)[number]

/** Name of each server's tool, as models see it. */
export const ownTool = 'use'

const longBytes = 40_000
const largeBytes = 1_900_000
const wordyBytes = 100_000

type Message = { id?: number; method: string }

/** MCP servers over HTTP, one per behavior, which simulated users connect. */
export class SimToolServer {
  readonly #server: Server
  readonly #origin: string

  private constructor(server: Server) {
    this.#server = server
    this.#origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    server.on('request', (request, response) => void answer(request, response).catch(() => response.destroy()))
  }

  static async start(): Promise<SimToolServer> {
    const server = createServer({ keepAliveTimeout: 0 })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return new SimToolServer(server)
  }

  urlOf(kind: ToolServerKind): string {
    return `${this.#origin}/${kind}`
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let text = ''
  request.setEncoding('utf8')
  for await (const chunk of request) text += chunk as string
  if (request.method !== 'POST') return void response.writeHead(request.method === 'DELETE' ? 200 : 405).end()
  const { id, method } = JSON.parse(text) as Message
  if (id === undefined) return void response.writeHead(202).end()
  const kind = request.url!.slice(1) as ToolServerKind
  const json = (of: object) =>
    void response
      .writeHead(200, { 'Content-Type': 'application/json' })
      .end(JSON.stringify({ jsonrpc: '2.0', id, ...of }))
  switch (method) {
    case 'initialize': {
      const serverInfo = { name: 'sim', version: '1' }
      return json({ result: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo } })
    }
    case 'tools/list': {
      const description = kind === 'wordy' ? '7'.repeat(wordyBytes) : 'A tool.'
      return json({ result: { tools: [{ name: ownTool, description, inputSchema: { type: 'object' } }] } })
    }
    case 'tools/call':
      break
    default:
      return json({ error: { code: -32601, message: 'Method not found' } })
  }
  const say = (said: string) => json({ result: { content: [{ type: 'text', text: said }] } })
  switch (kind) {
    case 'works':
    case 'wordy':
      return say('It is there.')
    case 'long':
      return say('7'.repeat(longBytes))
    case 'large':
      return say('7'.repeat(largeBytes))
    case 'drops':
      return void response.destroy()
    case 'garbage':
      return void response.writeHead(200, { 'Content-Type': 'application/json' }).end('This is no message.')
    case 'hangs':
  }
}
