import { isUtf8 } from 'node:buffer'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { findUnfitJson } from '../kernel/check-json.ts'
import { badField, ErrandError } from '../kernel/errors.ts'
import { bodyArrived } from './request-gate.ts'

const jsonType = /^application\/json(?:[ ]*;[ ]*charset=(?:utf-8|"utf-8"))?$/i

/** Throws 415 unless the request announces an uncompressed JSON body in UTF-8. */
function assertJsonType(request: IncomingMessage): void {
  const { 'content-type': type, 'content-encoding': encoding } = request.headers
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw new ErrandError('UNSUPPORTED_MEDIA_TYPE', `Content-Encoding "${encoding}" is not supported; send plain JSON.`)
  }
  if (type === undefined || !jsonType.test(type)) {
    throw new ErrandError('UNSUPPORTED_MEDIA_TYPE', 'The Content-Type must be application/json, in UTF-8.')
  }
}

/**
 * Bytes of request bodies that are being read or worked on, over all connections. Small ones do not count: the limit
 * keeps a few dozen clients with the largest allowed bodies from filling the memory.
 */
let bytesInFlight = 0
const bytesInFlightMax = 64 * 1024 * 1024
const smallBytes = 64 * 1024

/**
 * The largest body of an operation that needs no login, which is an address and a password at most: strangers must not
 * take the room of large bodies.
 */
export const publicBodyBytesMax = 16 * 1024

const releases = new WeakMap<IncomingMessage, () => void>()

/** Says that a body is no longer worked on, where the answer goes on for long after. */
export function releaseBody(request: IncomingMessage): void {
  releases.get(request)?.()
}

/** Collects the body; throws 413 as soon as it is known to be over the limit, whether announced or chunked. */
async function collect({ request, response, bytesMax }: ReadBody): Promise<Buffer> {
  const announced = Number(request.headers['content-length'] ?? 0)
  if (announced > bytesMax) throw tooLarge(bytesMax)
  let reserved = 0
  const release = () => {
    bytesInFlight -= reserved
    reserved = 0
  }
  response.once('close', release)
  releases.set(request, release)
  const reserve = (bytes: number): boolean => {
    if (bytes <= smallBytes || bytes <= reserved) return true
    if (bytesInFlight + bytes - reserved > bytesInFlightMax) return false
    bytesInFlight += bytes - reserved
    reserved = bytes
    return true
  }
  if (!reserve(announced)) throw tooManyLarge()
  return await new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let bytes = 0
    const refuse = (error: ErrandError) => {
      request.removeAllListeners('data')
      // What still arrives is thrown away.
      request.resume()
      reject(error)
    }
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > bytesMax) refuse(tooLarge(bytesMax))
      else if (!reserve(bytes)) refuse(tooManyLarge())
      else chunks.push(chunk)
    })
    request.once('end', () => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)))
    request.once('error', () => reject(badField('', 'The connection was closed inside the body.')))
  })
}

function tooManyLarge(): ErrandError {
  return new ErrandError('SERVICE_UNAVAILABLE', 'Too many large requests are under way; try again in a moment.', {
    retryAfterSeconds: 1,
  })
}

function tooLarge(bytesMax: number): ErrandError {
  return new ErrandError('PAYLOAD_TOO_LARGE', `The request body is larger than the allowed ${bytesMax} bytes.`)
}

const byteOrderMark = Buffer.from('\ufeff')

type ReadBody = { request: IncomingMessage; response: ServerResponse; bytesMax: number }

/** Reads a body that says that it is JSON, as text in UTF-8; throws 400, 413, 415, or 503 beside many large ones. */
export async function readBodyText(read: ReadBody): Promise<string> {
  assertJsonType(read.request)
  const bytes = await collect(read)
  bodyArrived(read.request)
  if (bytes.length === 0) throw badField('', 'The request body is empty; send a JSON object.')
  if (!isUtf8(bytes)) throw badField('', 'The request body is not valid UTF-8.')
  // JSON has none, and not every parser that comes after would say so.
  if (bytes.subarray(0, 3).equals(byteOrderMark)) throw badField('', 'The request body begins with a byte order mark.')
  // Before the parser makes objects of them.
  if (bytes.length > smallBytes && countValues(bytes) > jsonValuesMax) throw badField('', tooManyValues)
  return bytes.toString('utf8')
}

/** About how many values a JSON text holds: its commas and openings outside of strings. */
function countValues(bytes: Buffer): number {
  let values = 1
  let isInString = false
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]
    if (isInString) {
      if (byte === backslash) at++
      else if (byte === quote) isInString = false
    } else if (byte === quote) isInString = true
    else if (byte === comma || byte === openBrace || byte === openBracket) values++
  }
  return values
}

const [quote, backslash, comma, openBrace, openBracket] = [0x22, 0x5c, 0x2c, 0x7b, 0x5b]
const jsonValuesMax = 250_000
const tooManyValues = `The request body holds more than ${jsonValuesMax} values; send large data as text.`

/** Reads a JSON body whose value is fit to be stored; throws 400, 413, 415 or 503. */
export async function readJsonBody(read: ReadBody): Promise<unknown> {
  const text = await readBodyText(read)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw badField('', `The request body is not valid JSON: ${describe(error)}`)
  }
  const unfit = findUnfitJson(value)
  if (unfit) throw badField(unfit.path, unfit.message)
  return value
}

/** The parser's words, without the excerpt of the body that it quotes. */
function describe(error: unknown): string {
  const message = error instanceof Error ? error.message : ''
  return message
    .replace(/, (?:\.{3})?".*$/s, '')
    .slice(0, 200)
    .toWellFormed()
}
