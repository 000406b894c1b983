import type { ServerResponse } from 'node:http'
import { errorBody, type ErrandError } from '../kernel/errors.ts'

/** Headers of every answer of the API, whatever its status. */
export const apiHeaders: Record<string, string> = {
  'Content-Type': 'application/json; charset=utf-8',
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
}

/** Writes a JSON answer. A body that was not read makes the connection unusable, so it is closed. */
export function respondJson(
  response: ServerResponse,
  { status, json, headers }: { status: number; json: string; headers?: Record<string, string> | undefined },
): void {
  if (response.headersSent || response.destroyed) return
  const length = Buffer.byteLength(json)
  if (!response.req.complete && hasBody(response)) response.setHeader('Connection', 'close')
  response.writeHead(status, { ...apiHeaders, ...headers, 'Content-Length': length })
  response.end(json)
}

export function respondError(
  response: ServerResponse,
  error: ErrandError,
  headers?: Record<string, string> | undefined,
): void {
  respondJson(response, {
    status: error.status,
    json: JSON.stringify(errorBody(error)),
    headers: { ...headers, ...errorHeaders(error) },
  })
}

export function errorHeaders({ allow, retryAfterSeconds, status }: ErrandError): Record<string, string> {
  return {
    ...(allow !== undefined && { Allow: allow }),
    ...(retryAfterSeconds !== undefined && { 'Retry-After': String(retryAfterSeconds) }),
    ...(status === 401 && { 'WWW-Authenticate': 'Bearer' }),
  }
}

function hasBody({ req }: ServerResponse): boolean {
  const { 'content-length': length, 'transfer-encoding': encoding } = req.headers
  return encoding !== undefined || (length !== undefined && length !== '0')
}
