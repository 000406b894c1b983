import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { openResources } from '../support/resources.ts'
import { until, waitMsMax } from '../support/until.ts'

export type Received = { path: string; headers: IncomingHttpHeaders; body: string; id: string; at: number }

type Answer = number | ((request: IncomingMessage, response: ServerResponse) => unknown)

/** A real local endpoint that records its requests. */
export type Receiver = {
  url: string
  host: string
  received: Received[]
  /** Responses by path; 200 by default. */
  answers: Map<string, Answer>
  connections: () => number
  of: (path: string) => Received[]
  waitFor: (count: number, path?: string) => Promise<Received[]>
  stop: () => Promise<void>
}

export async function startReceiver(): Promise<Receiver> {
  const received: Received[] = []
  const answers = new Map<string, Answer>()
  let connections = 0
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const path = request.url!
      const body = Buffer.concat(chunks).toString()
      received.push({ path, headers: request.headers, body, id: String(request.headers['webhook-id']), at: Date.now() })
      const answer = answers.get(path) ?? 200
      if (typeof answer === 'function') answer(request, response)
      else response.writeHead(answer).end('answer')
    })
  })
  server.on('connection', () => connections++)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const name = `receiver on ${host}`
  openResources.add(name)
  const of = (path: string) => received.filter((one) => one.path === path)
  return {
    url: `http://${host}`,
    host,
    received,
    answers,
    connections: () => connections,
    of,
    waitFor: async (count, path) => {
      const found = () => (path === undefined ? received : of(path))
      await until(`${count} requests at ${path ?? name}`, waitMsMax, () => found().length >= count)
      return found()
    },
    stop: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
      openResources.delete(name)
    },
  }
}
