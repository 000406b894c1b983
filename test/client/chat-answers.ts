import type { ServerResponse } from 'node:http'
import { createClient, type ChatEvent, type ErrandClient } from '../../client/client.ts'
import { answer, startStub, type StubAnswer, type StubServer } from './stub-server.ts'

const timestamp = '2026-01-01T00:00:00.000Z'
export const usage = { promptTokens: 10, completionTokens: 5, totalTokens: 15, reasoningTokens: 0, toolCalls: 0 }

/** Returns an event of a service that does not number its events. */
function event(fields: object): ChatEvent {
  return { timestamp, ...fields } as ChatEvent
}

export const delta = (text: string) => event({ type: 'assistant_delta', delta: text })
export const reasoning = (text: string) => event({ type: 'reasoning_delta', delta: text })
export const done = event({ type: 'done', usage, costUsd: '0.0123' })
export const failed = event({
  type: 'error',
  error: { code: 'AGENT_ERROR', message: 'The agent failed.' },
  costUsd: '0.0007',
})

export function toolCall(id: string, args: Record<string, unknown>): ChatEvent {
  return event({ type: 'tool_call', toolCall: { id, name: 'search', arguments: args } })
}

export function toolResult(id: string, output: Record<string, unknown>): ChatEvent {
  return event({ type: 'tool_result', toolResult: { id, output } })
}

export const toLine = (event: unknown) => `${JSON.stringify(event)}\n`

export function startStream(response: ServerResponse, headers: Record<string, string> = {}): ServerResponse {
  return response.writeHead(200, { 'Content-Type': 'application/x-ndjson', 'X-Request-Id': 'req_1', ...headers })
}

export function streamOf(...events: readonly unknown[]): StubAnswer {
  return (response) => void startStream(response).end(events.map(toLine).join(''))
}

/** Returns an error as the service sends it to stream readers. */
export function streamRefusal(status: number, code: string, headers: Record<string, string> = {}): StubAnswer {
  const event = { type: 'error', timestamp, error: { code, message: 'No.' }, message: 'No.', statusCode: status }
  return answer(status, toLine(event), { 'Content-Type': 'application/x-ndjson', 'X-Request-Id': 'req_1', ...headers })
}

export const hello = { sessionId: 'sess_1', message: 'Hello' }

export async function startChatStub(
  ...answers: [StubAnswer, ...StubAnswer[]]
): Promise<{ stub: StubServer; client: ErrandClient }> {
  const stub = await startStub(...answers)
  return { stub, client: createClient({ baseUrl: stub.url, apiKey: 'key' }) }
}

export async function collect(stream: AsyncIterable<ChatEvent>): Promise<ChatEvent[]> {
  const events: ChatEvent[] = []
  for await (const event of stream) events.push(event)
  return events
}
