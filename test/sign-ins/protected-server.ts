import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { openResources } from '../support/resources.ts'

type Message = { id?: number; method: string; params?: { name?: string } }

export type ProtectedServer = {
  url: string
  /** Received tokens in order, each with its result. */
  shown: string[]
  asked: string[]
  /** Whether it accepts a token. */
  check: (token: string) => boolean | Promise<boolean>
  /** Rejects every call of its tool because this scope is missing, regardless of the token. */
  callScope: string | undefined
  stop: () => Promise<void>
}

type Options = {
  issuer: () => string
  /** Replaces its metadata; null for none. */
  metadata?: (url: string) => object | null
  /** Whether it sends the header with the metadata's URL. */
  challenges?: boolean
}

/** Starts an MCP server whose tools require a token. */
export async function startProtectedServer({ challenges = true, issuer, metadata }: Options): Promise<ProtectedServer> {
  const server = createServer((request, response) => void answer(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const own: ProtectedServer = {
    url: `${origin}/mcp`,
    shown: [],
    asked: [],
    check: () => true,
    callScope: undefined,
    stop: async () => {
      openResources.delete(own.url)
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  openResources.add(own.url)
  const describe =
    metadata ?? ((resource) => ({ resource, authorization_servers: [issuer()], scopes_supported: ['tools'] }))
  const wellKnown = '/.well-known/oauth-protected-resource'

  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    own.asked.push(`${request.method} ${request.url}`)
    if (request.url === `${wellKnown}/mcp`) {
      const described = describe(own.url)
      return send(response, described ? 200 : 404, described ?? {})
    }
    if (request.url !== '/mcp') return send(response, 404, {})
    const token = request.headers.authorization?.replace(/^Bearer /, '') ?? ''
    const isGood = token !== '' && (await own.check(token))
    if (token !== '') own.shown.push(`${token} ${isGood ? 200 : 401}`)
    if (!isGood) {
      const where = `Bearer resource_metadata="${origin}${wellKnown}/mcp"`
      return send(response, 401, {}, challenges ? { 'www-authenticate': where } : {})
    }
    if (request.method !== 'POST') return send(response, 405, {})
    const { id, method, params } = (await json(request)) as Message
    if (id === undefined) return void response.writeHead(202).end()
    if (own.callScope !== undefined && method === 'tools/call') {
      const needed = `Bearer error="insufficient_scope", scope="${own.callScope}"`
      return send(response, 403, {}, { 'www-authenticate': needed })
    }
    const result = results[method]?.(params)
    send(response, 200, result ? { jsonrpc: '2.0', id, result } : { jsonrpc: '2.0', id, error: unknownMethod })
  }
  return own
}

const unknownMethod = { code: -32601, message: 'Method not found' }
const tool = { name: 'use', description: 'A tool.', inputSchema: { type: 'object' } }
const results: Record<string, (params: Message['params']) => object> = {
  initialize: () => ({
    protocolVersion: '2025-06-18',
    capabilities: { tools: {} },
    serverInfo: { name: 'protected', version: '1' },
  }),
  'tools/list': () => ({ tools: [tool] }),
  'tools/call': (params) => ({ content: [{ type: 'text', text: `used ${params?.name}` }] }),
}

function send(response: ServerResponse, status: number, body: object, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}
