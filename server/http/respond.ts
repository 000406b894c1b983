import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ErrandError } from '../kernel/errors.ts'

/** Alternating names and values, the format that Node writes without copying. */
export type HeaderList = string[]

/** A complete response. `type` defaults to JSON. `respond` appends to `headers`. */
type Whole = { status: number; text: string; type?: string | undefined; headers: HeaderList }

export const jsonType = 'application/json; charset=utf-8'

/**
 * Writes a response that must not be cached. If the request body is still arriving, Node discards the rest within the
 * request's timeout. Closing the connection would reset it, and a client that is still sending would never see the
 * response.
 */
export function respond(response: ServerResponse, { headers, status, text, type = jsonType }: Whole): void {
  if (response.headersSent || response.destroyed) return
  const bytes = Buffer.byteLength(text)
  headers.push('Content-Type', type, 'Cache-Control', 'no-store', 'Content-Length', String(bytes))
  // Plain ASCII is the same in both encodings, and latin1 is written far faster.
  response.writeHead(status, headers).end(text, bytes === text.length ? 'latin1' : 'utf8')
}

export function withHeaders(headers: HeaderList, own: Record<string, string>): HeaderList {
  return [...headers, ...Object.entries(own).flat()]
}

export function errorHeaders({ allow, retryAfterSeconds, status }: ErrandError): HeaderList {
  const list: HeaderList = []
  if (allow !== undefined) list.push('Allow', allow)
  if (retryAfterSeconds !== undefined) list.push('Retry-After', String(retryAfterSeconds))
  if (status === 401) list.push('WWW-Authenticate', 'Bearer')
  return list
}

export function hasBody({ headers }: IncomingMessage): boolean {
  const { 'content-length': length, 'transfer-encoding': encoding } = headers
  return encoding !== undefined || (length !== undefined && length !== '0')
}
