import type { IncomingHttpHeaders } from 'node:http'
import { currentRevision, revisions, revisionWithoutHeader } from './revisions.ts'

export type RequestId = string | number
export type Fields = Record<string, unknown>

export type McpMessage = {
  /** Undefined for notifications, which get no response. */
  id: RequestId | undefined
  method: string
  params: Fields
  meta: Fields
  /** MCP revision named by the request, or else a default. */
  revision: string
  /**
   * Whether the message uses the current revision, which has no handshake. Each request describes its client instead.
   */
  isCurrent: boolean
}

/** JSON-RPC and MCP error codes. All other errors use their HTTP status as the code. */
export const errorCodes = {
  parse: -32_700,
  invalidRequest: -32_600,
  methodNotFound: -32_601,
  invalidParams: -32_602,
  internal: -32_603,
  headerMismatch: -32_020,
  unsupportedRevision: -32_022,
} as const

/** Causes a JSON-RPC error response. `status` is its HTTP status, usually 200. */
export class McpError extends Error {
  override readonly name = 'McpError'
  readonly code: number
  readonly status: number
  readonly data: unknown

  constructor(code: number, message: string, { data, status = 200 }: { data?: unknown; status?: number } = {}) {
    super(message)
    this.code = code
    this.status = status
    this.data = data
  }
}

/** Keys of `_meta`. In the current revision, every message describes its client with the first three. */
export const metaNames = {
  revision: 'io.modelcontextprotocol/protocolVersion',
  clientInfo: 'io.modelcontextprotocol/clientInfo',
  clientCapabilities: 'io.modelcontextprotocol/clientCapabilities',
  serverInfo: 'io.modelcontextprotocol/serverInfo',
  relatedTask: 'io.modelcontextprotocol/related-task',
} as const

/** The parameter that the `Mcp-Name` header must repeat, by method. */
const namedBy: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
}

export function idOf(body: unknown): RequestId | null {
  const { id } = isFields(body) ? body : {}
  return isRequestId(id) ? id : null
}

/**
 * Returns undefined for a response, which the service ignores because it sends no requests. Throws an McpError for an
 * invalid message.
 */
export function readMessage(body: unknown, headers: IncomingHttpHeaders): McpMessage | undefined {
  if (Array.isArray(body)) throw invalid('Batches are not supported. Send each message in a separate request.')
  if (!isFields(body) || body['jsonrpc'] !== '2.0') throw invalid('Must be a JSON-RPC 2.0 message.')
  const { id, method, params = {} } = body
  if (method === undefined && ('result' in body || 'error' in body)) return undefined
  if (typeof method !== 'string') throw invalid('method: Must be a string.')
  if (id !== undefined && !isRequestId(id)) {
    throw invalid(`id: Must be an integer, or a string of at most ${idCharsMax} characters.`)
  }
  if (!isFields(params)) throw invalid('params: Must be an object.')
  const { _meta: meta = {} } = params
  if (!isFields(meta)) throw invalidParams('_meta: Must be an object.', 400)
  const named = headerOf(headers, 'mcp-protocol-version')
  const claimed = meta[metaNames.revision]
  const isCurrent = claimed !== undefined || (named === currentRevision && id !== undefined)
  const message = { id, method, params, meta, isCurrent, revision: named ?? revisionWithoutHeader }
  if (isCurrent) return { ...message, revision: currentOf(message, headers) }
  // `initialize` may name any revision, because the handshake negotiates one.
  if (method !== 'initialize' && !revisions.includes(message.revision)) throw unsupported(message.revision)
  return message
}

function currentOf({ id, meta, method, params }: McpMessage, headers: IncomingHttpHeaders): string {
  const claimed = meta[metaNames.revision]
  const named = headerOf(headers, 'mcp-protocol-version')
  if (typeof claimed !== 'string') throw invalidParams(`_meta: "${metaNames.revision}" must be a string.`, 400)
  if (id === undefined) return claimed
  if (!isFields(meta[metaNames.clientCapabilities])) {
    throw invalidParams(`_meta: "${metaNames.clientCapabilities}" must be an object.`, 400)
  }
  assertSame('MCP-Protocol-Version', named, claimed)
  if (claimed !== currentRevision) throw unsupported(claimed)
  assertSame('Mcp-Method', headerOf(headers, 'mcp-method'), method)
  const name = Object.hasOwn(namedBy, method) ? params[namedBy[method]!] : undefined
  if (typeof name === 'string') assertSame('Mcp-Name', decodeName(headerOf(headers, 'mcp-name')), name)
  return claimed
}

function assertSame(header: string, sent: string | undefined, inBody: string): void {
  if (sent === inBody) return
  const message = `The header ${header} ${sent === undefined ? 'is missing' : 'differs from the message'}. Send it with the value in the message.`
  throw new McpError(errorCodes.headerMismatch, message, { status: 400 })
}

/** Decodes `=?base64?…?=`, which encodes names that are not plain ASCII. */
function decodeName(sent: string | undefined): string | undefined {
  const encoded = sent === undefined ? undefined : /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/.exec(sent)?.[1]
  return encoded === undefined ? sent : Buffer.from(encoded, 'base64').toString('utf8')
}

function headerOf(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name]
  return typeof value === 'string' ? value.trim() : undefined
}

function unsupported(requested: string): McpError {
  const data = { supported: revisions, requested }
  return new McpError(
    errorCodes.unsupportedRevision,
    `This protocol version is not supported. Use ${revisions.join(' or ')}.`,
    { status: 400, data },
  )
}

function invalid(message: string): McpError {
  return new McpError(errorCodes.invalidRequest, message, { status: 400 })
}

export function invalidParams(message: string, status = 200): McpError {
  return new McpError(errorCodes.invalidParams, message, { status })
}

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Maximum length of ids and progress tokens. Both are stored and sent back. */
const idCharsMax = 1024

export function isRequestId(value: unknown): value is RequestId {
  return typeof value === 'string' ? value.length <= idCharsMax : Number.isSafeInteger(value)
}
