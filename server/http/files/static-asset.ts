import { createHash } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { ownTurn } from '../../kernel/own-turn.ts'
import { acceptedEncoding, type ContentEncoding } from './accept-encoding.ts'
import { withHeaders } from '../respond.ts'
import type { RoutedRequest } from '../routed-request.ts'

// Serves content that is the same for every client. All responses share the bytes.

type Variant = { body: Buffer; etag: string }
export type StaticAsset = { type: string; plain: Variant; encoded: Partial<Record<ContentEncoding, Variant>> }

export function staticAsset(
  type: string,
  plain: Buffer,
  encoded: Partial<Record<ContentEncoding, Buffer>>,
): StaticAsset {
  const hash = createHash('sha256').update(plain).digest('base64url').slice(0, 22)
  const variants: StaticAsset['encoded'] = {}
  for (const [name, body] of Object.entries(encoded) as [ContentEncoding, Buffer][]) {
    variants[name] = { body, etag: `"${hash}-${name}"` }
  }
  return { type, plain: { body: plain, etag: `"${hash}"` }, encoded: variants }
}

/** The highest quality takes thirty times as long and saves only another 10%. */
const brotliQuality = 9

/** Compresses on other threads. Leaves the content uncompressed if compression does not shrink it. */
export async function compressedAsset(type: string, plain: Buffer): Promise<StaticAsset> {
  const params = { [constants.BROTLI_PARAM_QUALITY]: brotliQuality }
  const [br, gz] = await Promise.all([promisify(brotliCompress)(plain, { params }), promisify(gzip)(plain)])
  return staticAsset(type, plain, Math.min(br.length, gz.length) < plain.length ? { br, gzip: gz } : {})
}

/** Handles GET and HEAD. `own` adds headers to those of the asset. */
export function sendAsset(
  { headers, request, response }: RoutedRequest,
  { encoded, plain, type }: StaticAsset,
  own: Record<string, string>,
): void {
  const encoding = acceptedEncoding(request.headers['accept-encoding'], Object.keys(encoded) as ContentEncoding[])
  const { body, etag } = (encoding && encoded[encoding]) ?? plain
  const common = { ...own, ETag: etag, Vary: 'Accept-Encoding' }
  const list = withHeaders(headers, common)
  if (isKnown(request.headers['if-none-match'], etag)) return void response.writeHead(304, list).end()
  const described = { 'Content-Type': type, 'Content-Length': String(body.length) }
  response.writeHead(200, withHeaders(list, encoding ? { ...described, 'Content-Encoding': encoding } : described))
  if (request.method === 'HEAD') response.end()
  else sendPieces(response, body)
}

const pieceBytes = 65_536

/**
 * Sends one piece per event-loop tick, across all clients. Without this, a socket would accept megabytes in one step,
 * even if its client has stopped reading, and copying them takes a millisecond.
 */
function sendPieces(response: ServerResponse, body: Buffer): void {
  let at = 0
  const next = async () => {
    await ownTurn(null)
    if (response.destroyed) return
    const piece = body.subarray(at, (at += pieceBytes))
    if (at >= body.length) response.end(piece)
    else if (response.write(piece)) void next()
    else response.once('drain', () => void next())
  }
  void next()
}

function isKnown(given: string | undefined, etag: string): boolean {
  if (given === undefined) return false
  return given.split(',').some((one) => one.trim() === '*' || one.trim().replace(/^W\//, '') === etag)
}
