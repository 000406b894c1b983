import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { findUnfitJson } from '../kernel/check-json.ts'
import { badField, ErrandError } from '../kernel/errors.ts'

const jsonType = /^application\/json(?:[ ]*;[ ]*charset="?utf-8"?)?$/i

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

/** Collects the body; throws 413 as soon as it is known to be over the limit, whether announced or chunked. */
async function collect(request: IncomingMessage, bytesMax: number): Promise<Buffer> {
  if (Number(request.headers['content-length'] ?? 0) > bytesMax) throw tooLarge(bytesMax)
  return await new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let bytes = 0
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > bytesMax) {
        request.removeAllListeners('data')
        // What still arrives is thrown away; the connection is closed after the answer.
        request.resume()
        reject(tooLarge(bytesMax))
      } else chunks.push(chunk)
    })
    request.once('end', () => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)))
    request.once('error', () => reject(badField('', 'The connection was closed inside the body.')))
  })
}

function tooLarge(bytesMax: number): ErrandError {
  return new ErrandError('PAYLOAD_TOO_LARGE', `The request body is larger than the allowed ${bytesMax} bytes.`)
}

/** Reads a body that says that it is JSON, as text in UTF-8; throws 400, 413 or 415. */
export async function readBodyText(request: IncomingMessage, bytesMax: number): Promise<string> {
  assertJsonType(request)
  const bytes = await collect(request, bytesMax)
  if (bytes.length === 0) throw badField('', 'The request body is empty; send a JSON object.')
  if (!isUtf8(bytes)) throw badField('', 'The request body is not valid UTF-8.')
  return bytes.toString('utf8')
}

/** Reads a JSON body whose value is fit to be stored; throws 400, 413 or 415. */
export async function readJsonBody(request: IncomingMessage, bytesMax: number): Promise<unknown> {
  const text = await readBodyText(request, bytesMax)
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
