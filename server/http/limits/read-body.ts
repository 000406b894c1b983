import { isUtf8 } from 'node:buffer'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { findUnfitJson } from '../../kernel/check-json.ts'
import { badField, ErrandError } from '../../kernel/errors.ts'
import { jsonNameBytesMax } from '../../kernel/json-values.ts'
import { ownTurn } from '../../kernel/own-turn.ts'
import { BodyBytes } from './body-bytes.ts'
import { smallBodyBytesMax, type BodyPlace, type BodyRoom } from './body-room.ts'
import { JsonMeasure } from './json-measure.ts'
import { bodyArrived, releaseGate, requestTurn } from './request-gate.ts'

const jsonType = /^application\/json(?:[ ]*;[ ]*charset=(?:utf-8|"utf-8"))?$/i

function assertJsonType(request: IncomingMessage): void {
  const { 'content-type': type, 'content-encoding': encoding } = request.headers
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw new ErrandError(
      'UNSUPPORTED_MEDIA_TYPE',
      `The Content-Encoding "${encoding}" is not supported. Send plain JSON.`,
    )
  }
  if (type === undefined || !jsonType.test(type)) {
    throw new ErrandError(
      'UNSUPPORTED_MEDIA_TYPE',
      'The Content-Type is not supported. Send application/json in UTF-8.',
    )
  }
}

/** Maximum body size of a public operation, which expects no more than an email address and a password. */
export const publicBodyBytesMax = 16 * 1024

/** Collects the body. Throws 413 as soon as its declared or received length exceeds the limit. */
async function collect({ bytesMax, owner, request, response, room }: ReadBody): Promise<BodyBytes> {
  const announced = Number(request.headers['content-length'] ?? 0)
  if (announced > bytesMax) throw tooLarge(bytesMax)
  const body = new BodyBytes(bytesMax)
  let place: BodyPlace | undefined
  return await new Promise((resolve, reject) => {
    const refuse = (error: unknown) => {
      request.removeAllListeners('data')
      request.resume()
      body.free()
      place?.release()
      reject(error)
    }
    request.on('data', (chunk: Buffer) => {
      const isWhole = chunk.length === announced && chunk.length <= smallBodyBytesMax
      if (body.length + chunk.length > bytesMax) return refuse(tooLarge(bytesMax))
      try {
        // Most bodies arrive in one piece and need no memory reservation.
        if (!isWhole) place ??= room.open({ owner, request, response }, refuse)
        place?.hold(body.spaceWith(chunk.length))
      } catch (error) {
        return refuse(error)
      }
      body.add(chunk)
    })
    request.once('end', () => {
      place?.arrived()
      resolve(body)
    })
    request.once('error', () =>
      refuse(badField('', 'The connection was closed before the request body was complete. Send the request again.')),
    )
  })
}

function tooLarge(bytesMax: number): ErrandError {
  return new ErrandError(
    'PAYLOAD_TOO_LARGE',
    `The request body is larger than ${bytesMax} bytes, the maximum. Send a smaller request.`,
  )
}

const byteOrderMark = Buffer.from('\ufeff')

type ReadBody = {
  request: IncomingMessage
  response: ServerResponse
  bytesMax: number
  room: BodyRoom
  /** User who sent the request. Null if unauthenticated. */
  owner: string | null
}

/** Reads a JSON body as a UTF-8 string. Throws 400, 413 or 415, or 503 if there are many large bodies. */
export async function readBodyText(read: ReadBody): Promise<string> {
  assertJsonType(read.request)
  const body = await collect(read)
  try {
    bodyArrived(read.request)
    return await textOf(body.whole(), read)
  } finally {
    body.free()
  }
}

async function textOf(bytes: Buffer, { owner, request }: ReadBody): Promise<string> {
  if (bytes.length === 0) throw badField('', 'The request body is empty. Send a JSON object.')
  if (!isUtf8(bytes)) throw badField('', 'The request body is not valid UTF-8. Send JSON in UTF-8.')
  // JSON does not allow a byte order mark, but some parsers accept one.
  if (bytes.subarray(0, 3).equals(byteOrderMark))
    throw badField('', 'The request body starts with a byte order mark. Send JSON without it.')
  if (bytes.length <= jsonNameBytesMax) return bytes.toString('utf8')
  const measure = new JsonMeasure(bytes)
  if (bytes.length <= smallBodyBytesMax) {
    assertFit(measure)
    return bytes.toString('utf8')
  }
  // Enter the gate again only after the last piece. If each piece had to enter it, large bodies would be rejected more
  // often than small ones.
  releaseGate(request)
  while (!measure.isWhole) {
    await ownTurn(owner)
    assertFit(measure)
  }
  await requestTurn(request, owner)
  return bytes.toString('utf8')
}

/** Examines the next piece before the parser creates objects. Throws 400 if a limit is exceeded. */
function assertFit(measure: JsonMeasure): void {
  const unfit = measure.go()
  if (unfit !== undefined) throw badField('', unfit)
}

/** Reads a JSON body and checks that it can be stored. Throws 400, 413, 415 or 503. */
export async function readJsonBody(read: ReadBody): Promise<unknown> {
  const text = await readBodyText(read)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw badField('', `The request body is not valid JSON. Fix this error: ${describe(error)}`)
  }
  const isLarge = text.length > smallBodyBytesMax
  if (isLarge) await requestTurn(read.request, read.owner)
  const unfit = findUnfitJson(value)
  if (unfit) throw badField(unfit.path, unfit.message)
  if (isLarge) await requestTurn(read.request, read.owner)
  return value
}

/** Removes the excerpt of the body from the parser's message. */
function describe(error: unknown): string {
  const message = error instanceof Error ? error.message : ''
  return message
    .replace(/, (?:\.{3})?".*$/s, '')
    .slice(0, 200)
    .toWellFormed()
}
