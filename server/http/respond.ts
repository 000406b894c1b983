import type { IncomingMessage, ServerResponse } from 'node:http'
import { errorBody, type ErrandError } from '../kernel/errors.ts'

/** Names and values in turn, the form that Node writes without copying; every answer carries those of its request. */
export type HeaderList = string[]

/**
 * Writes a JSON answer. Node then reads on and drops what is left of the body, within the request's timeout: closing
 * at once would reset the connection of a client that still sends, which then never sees the answer.
 */
export function respondJson(
  response: ServerResponse,
  { status, json, headers }: { status: number; json: string; headers: HeaderList },
): void {
  if (response.headersSent || response.destroyed) return
  const bytes = Buffer.byteLength(json)
  const list = [
    ...headers,
    'Content-Type',
    'application/json; charset=utf-8',
    'Cache-Control',
    'no-store',
    'X-Content-Type-Options',
    'nosniff',
    'Content-Length',
    String(bytes),
  ]
  response.writeHead(status, list)
  // Plain ASCII is the same in both encodings, and this one is written far faster.
  response.end(json, bytes === json.length ? 'latin1' : 'utf8')
}

export function respondError(response: ServerResponse, error: ErrandError, headers: HeaderList): void {
  const json = JSON.stringify(errorBody(error))
  respondJson(response, { status: error.status, json, headers: [...headers, ...errorHeaders(error)] })
}

export function errorHeaders({ allow, retryAfterSeconds, status }: ErrandError): HeaderList {
  const list: HeaderList = []
  if (allow !== undefined) list.push('Allow', allow)
  if (retryAfterSeconds !== undefined) list.push('Retry-After', String(retryAfterSeconds))
  if (status === 401) list.push('WWW-Authenticate', 'Bearer')
  return list
}

/** Whether a request announces a body. */
export function hasBody({ headers }: IncomingMessage): boolean {
  const { 'content-length': length, 'transfer-encoding': encoding } = headers
  return encoding !== undefined || (length !== undefined && length !== '0')
}
