import { expect } from 'vitest'
import type { TestService } from '../support/test-service.ts'

export const currentRevision = '2026-07-28'
const name = (part: string) => `io.modelcontextprotocol/${part}`

type Sent = { key: string; headers?: Record<string, string>; signal?: AbortSignal; id?: string | number | null }
export type McpAnswer = { status: number; headers: Headers; body: any; messages: any[] }

const accept = 'application/json, text/event-stream'

/** Sends one string as an MCP message and reads the response: the last message, and all messages of a stream. */
export async function sendText(service: TestService, text: string, { key, headers, signal }: Sent): Promise<McpAnswer> {
  const response = await fetch(`${service.url}/mcp`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Accept: accept, Authorization: `Bearer ${key}`, ...headers },
    body: text,
    ...(signal && { signal }),
  })
  const body = await response.text()
  const isStream = response.headers.get('content-type') === 'text/event-stream'
  const messages = isStream
    ? [...body.matchAll(/^data: (.*)$/gm)].map(([, json]) => JSON.parse(json!))
    : body === ''
      ? []
      : [JSON.parse(body)]
  return { status: response.status, headers: response.headers, body: messages.at(-1), messages }
}

/** Sends a request as a client after its handshake. */
export function send(service: TestService, method: string, params: object, sent: Sent): Promise<McpAnswer> {
  const id = sent.id === undefined ? 1 : sent.id
  const message = { jsonrpc: '2.0', ...(id !== null && { id }), method, params }
  return sendText(service, JSON.stringify(message), sent)
}

/** Sends a request of the current revision, with its mandatory fields. */
export function sendCurrent(
  service: TestService,
  method: string,
  params: { name?: string; taskId?: string; _meta?: object; [field: string]: unknown },
  { capabilities = {}, ...sent }: Sent & { capabilities?: object },
): Promise<McpAnswer> {
  const meta = {
    [name('protocolVersion')]: currentRevision,
    [name('clientInfo')]: { name: 'test', version: '1' },
    [name('clientCapabilities')]: capabilities,
    ...params._meta,
  }
  const named = params.name ?? params.taskId
  const headers = {
    'MCP-Protocol-Version': currentRevision,
    'Mcp-Method': method,
    ...(named !== undefined && { 'Mcp-Name': named }),
    ...sent.headers,
  }
  return send(service, method, { ...params, _meta: meta }, { ...sent, headers })
}

export function callTool(service: TestService, tool: string, args: object, sent: Sent): Promise<McpAnswer> {
  return send(service, 'tools/call', { name: tool, arguments: args }, sent)
}

/** Returns the types and amounts of the caller's transactions without the first credit, oldest first. */
export async function moneyOf(service: TestService, key: string): Promise<[string, string][]> {
  const { body } = await service.get('/api/transactions?limit=100', key)
  const all: [string, string][] = body.transactions.map(({ amountUsd, type }: Record<string, string>) => [
    type,
    amountUsd,
  ])
  return all.toReversed().filter(([type]) => type !== 'credit')
}

export const charge: [string, string] = ['task_charge', '-0.0100']
export const refund: [string, string] = ['task_refund', '0.0100']

export async function expectClean(service: TestService): Promise<void> {
  expect((await service.app.store.verifyLedger()).differences).toEqual([])
}
