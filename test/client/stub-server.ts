import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { openResources } from '../support/resources.ts'

export type StubRequest = { method: string; url: string; headers: IncomingMessage['headers']; body: string }
export type StubAnswer = (response: ServerResponse, request: StubRequest) => void | Promise<void>

export type StubServer = {
  url: string
  requests: StubRequest[]
  stop: () => Promise<void>
}

/** Starts a server that gives each request the next answer, and then repeats the last one. */
export async function startStub(...answers: [StubAnswer, ...StubAnswer[]]): Promise<StubServer> {
  const requests: StubRequest[] = []
  const respond = async (incoming: IncomingMessage, response: ServerResponse) => {
    const { method = '', url = '', headers } = incoming
    const request = { method, url, headers, body: await text(incoming) }
    requests.push(request)
    await answers[Math.min(requests.length, answers.length) - 1]!(response, request)
  }
  const server = createServer((incoming, response) => {
    // A client that leaves during its request is not an error.
    respond(incoming, response).catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const name = `stub on ${url}`
  openResources.add(name)
  return {
    url,
    requests,
    stop: async () => {
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
      openResources.delete(name)
    },
  }
}

export function answer(status: number, body: string, headers: Record<string, string> = {}): StubAnswer {
  return (response) => void response.writeHead(status, { 'Content-Type': 'application/json', ...headers }).end(body)
}

/** Returns a result of typed RPC for a single call. */
export function result(value: unknown): StubAnswer {
  return answer(200, JSON.stringify({ result: { data: { json: value } } }))
}

/** Returns an error of typed RPC for a single call. */
export function refusal(errorCode: string, httpStatus: number, retryAfterSeconds?: number): StubAnswer {
  const data = { code: 'BAD_REQUEST', httpStatus, errorCode, retryAfterSeconds }
  return answer(httpStatus, JSON.stringify({ error: { json: { code: -32600, message: 'Refused.', data } } }))
}

export const cut: StubAnswer = (response) => void response.socket?.destroy()

export const silence: StubAnswer = () => {}

export const pendingTask = { id: 'task_1', status: 'processing', response: null, error: null }
export const completedTask = { ...pendingTask, status: 'completed', response: { done: true } }
