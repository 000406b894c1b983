import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { json } from 'node:stream/consumers'
import { openResources } from '../support/resources.ts'

type Message = { id?: number; method: string; params?: Record<string, any> }

export type StubMcpServer = {
  url: string
  /** Headers of each request. */
  seen: IncomingHttpHeaders[]
  /** Stops the server and aborts requests in progress. */
  stop(): Promise<void>
}

type StubOptions = {
  /** The tools, possibly depending on the request headers. */
  tools?: object[] | ((headers: IncomingHttpHeaders) => object[])
  /** Accepts requests but never responds. */
  isSilent?: boolean
  /** Handles all requests instead of the MCP server. */
  refuse?: (request: IncomingMessage, response: ServerResponse) => unknown
}

/** Starts an MCP server whose tools return their arguments. */
export async function startStubMcpServer(options: StubOptions = {}): Promise<StubMcpServer> {
  const { isSilent = false, refuse } = options
  const seen: IncomingHttpHeaders[] = []
  const sockets = new Set<Socket>()
  const server = createServer((request, response) => {
    seen.push(request.headers)
    if (isSilent) return
    if (refuse) return void refuse(request, response)
    const { tools = [] } = options
    void answer({ request, response, tools: typeof tools === 'function' ? tools(request.headers) : tools })
  })
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
  openResources.add(url)
  return {
    url,
    seen,
    stop: async () => {
      const closed = new Promise((resolve) => server.close(resolve))
      for (const socket of sockets) socket.destroy()
      await closed
      openResources.delete(url)
    },
  }
}

export async function closedUrl(): Promise<string> {
  const server = await startStubMcpServer()
  await server.stop()
  return server.url
}

type Exchange = { request: IncomingMessage; response: ServerResponse; tools: object[] }

async function answer({ request, response, tools }: Exchange): Promise<void> {
  if (request.method !== 'POST') return void response.writeHead(405).end()
  const { id, method, params } = (await json(request)) as Message
  if (id === undefined) return void response.writeHead(202).end()
  const result =
    method === 'initialize'
      ? welcome(params?.['protocolVersion'])
      : method === 'tools/call'
        ? { content: [{ type: 'text', text: JSON.stringify(params?.['arguments']) }] }
        : { tools }
  response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, result }))
}

function welcome(protocolVersion: string): object {
  return { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'stub', version: '1' } }
}
