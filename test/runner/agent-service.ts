import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { createServer as createTcpServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import type { EndpointRun } from '../../server/agents/run/endpoint-run.ts'
import { noConnectors, type RunOf } from '../../server/connectors/thread/run-connectors.ts'
import type { ChatPart, ChatRun, HttpAgentConfig } from '../../server/agents/config/define-config.ts'
import { openResources } from '../support/resources.ts'

export type ServiceRequest = { headers: IncomingMessage['headers']; url: string; text: string; body: any }
export type ServiceAnswer = (response: ServerResponse, request: ServiceRequest) => void | Promise<void>

export type AgentService = {
  url: string
  /** Requests received completely. */
  requests: ServiceRequest[]
  /** All connections so far; closed ones are destroyed. */
  connections: Socket[]
  stop: () => Promise<void>
}

type ServiceOptions = { port?: number; tls?: { key: string; cert: string } }

/** Starts the service of an HTTP agent, which sends this response to each request. */
export async function startAgentService(answer: ServiceAnswer, options: ServiceOptions = {}): Promise<AgentService> {
  const requests: ServiceRequest[] = []
  const respond = async (incoming: IncomingMessage, response: ServerResponse) => {
    const { headers, url = '' } = incoming
    const body = await text(incoming)
    const request = { headers, url, text: body, body: JSON.parse(body) as unknown }
    requests.push(request)
    await answer(response, request)
  }
  // A client that leaves early is not an error.
  const listener: RequestListener = (incoming, response) =>
    void respond(incoming, response).catch(() => response.destroy())
  const server = options.tls ? createSecureServer(options.tls, listener) : createServer(listener)
  return await listen(server, { requests, ...options })
}

/** Starts a service without its own HTTP: the test handles each connection. */
export function startTcpService(onConnection: (socket: Socket) => void): Promise<AgentService> {
  return listen(createTcpServer(onConnection), { requests: [] })
}

type Listen = ServiceOptions & { requests: ServiceRequest[] }

async function listen(server: Server, { port = 0, requests, tls }: Listen): Promise<AgentService> {
  const connections: Socket[] = []
  server.on('connection', (socket: Socket) => {
    connections.push(socket)
    socket.on('error', () => {})
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const url = `${tls ? 'https' : 'http'}://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const name = `agent service on ${url}`
  openResources.add(name)
  return {
    url,
    requests,
    connections,
    stop: async () => {
      const closed = new Promise((resolve) => server.close(resolve))
      for (const socket of connections) socket.destroy()
      await closed
      openResources.delete(name)
    },
  }
}

export function answerWith(status: number, body: string | Buffer, headers: Record<string, string> = {}): ServiceAnswer {
  return (response) => void response.writeHead(status, { 'Content-Type': 'application/json', ...headers }).end(body)
}

/** Sends each piece as its own chunk. */
export function replyWith(...pieces: (string | Buffer)[]): ServiceAnswer {
  return async (response) => {
    response.writeHead(200, { 'Content-Type': 'application/x-ndjson' })
    for (const piece of pieces) await new Promise((resolve) => response.write(piece, resolve))
    response.end()
  }
}

export const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'

export function agentAt(url: string): HttpAgentConfig {
  return { kind: 'http', id: 'remote', name: 'Remote', url, secret }
}

export function taskRun(run: Partial<EndpointRun> = {}): EndpointRun {
  const signal = new AbortController().signal
  return {
    params: { text: 'Ahoi ☃' },
    connectors: noConnectors,
    userId: 'user_1',
    taskId: 'task_1',
    signal,
    log() {},
    progress() {},
    charge: (_, count = 1) => count,
    resultBytesMax: 1_000_000,
    ...run,
  }
}

export function chatRun(run: Partial<RunOf<ChatRun>> = {}): RunOf<ChatRun> {
  return {
    message: 'Hello?',
    history: [],
    params: {},
    connectors: noConnectors,
    userId: 'user_1',
    sessionId: 'session_1',
    turnId: 'turn_1',
    signal: new AbortController().signal,
    log() {},
    modelCall: () => Promise.reject(new Error('not called')),
    ...run,
  }
}

/** Returns the parts of the reply, and its failure, if any. */
export async function readReply(reply: AsyncIterable<ChatPart>): Promise<{ parts: ChatPart[]; failure: string }> {
  const parts: ChatPart[] = []
  try {
    for await (const part of reply) parts.push(part)
    return { parts, failure: '' }
  } catch (error) {
    return { parts, failure: (error as Error).message }
  }
}
