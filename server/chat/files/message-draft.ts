import type { OwnedPayload } from '../../store/tasks/task-types.ts'
import type { z } from 'zod'
import type { Chat } from '../../agents/config/catalogue.ts'
import { contentFault } from '../../agents/files/file-content.ts'
import { contentTokens, textTokens } from '../../agents/files/content-tokens.ts'
import {
  fileTokens,
  sumTokens,
  type FileSum,
  type FileTokens,
  type MeasuredFile,
} from '../../agents/files/file-tokens.ts'
import { isAccepted, isTextType, mediaTypePattern } from '../../agents/files/media-types.ts'
import { boundSessionOf, type Caller } from '../../procedures/caller.ts'
import { badField, ErrandError } from '../../kernel/errors.ts'
import type { Place } from '../../kernel/fair-places.ts'
import type { PayloadStore } from '../../payloads/payload-store.ts'
import { contentOf } from '../../store/sessions/session-records.ts'
import type { Store } from '../../store/store.ts'
import type { ChatInput, FilePart } from '../chat-schema.ts'

export type DraftFile = FileTokens &
  MeasuredFile & {
    /** Null for a stored file if the message is priced but not sent. */
    content: Buffer | null
    filename: string | undefined
  }
type DraftPart = { type: 'text'; text: string } | { type: 'file'; file: DraftFile }

/** Content of a message. `parts` is null if it has no files. */
export type MessageDraft = { text: string; parts: readonly DraftPart[] | null; files: FileSum }

export type FilesLeft = { files: number; bytes: number }

export type FileLimits = { fileBytesMax: number; messageFileBytesMax: number }
export type DraftParts = { limits: FileLimits; payloads: PayloadStore; store: Pick<Store, 'findPayload'> }
type Of = {
  caller: Caller
  chat: Chat
  place: Place
  /**
   * Whether the message is only priced and will not be sent. If so, the sizes of its stored files come from their rows,
   * and their content is not read.
   */
  isOnlyWeighed?: boolean
  /** Resolves in a separate event-loop tick. Awaited before a large file is processed. */
  onLarge: () => Promise<void>
}
type OfMessage = Of & { path: string; left: FilesLeft }

export const messageFilesMax = 10
export const requestFilesMax = 50
/** Media type of task params and results. */
const jsonType = 'application/json'
const base64Padding = /={1,2}$/
/**
 * Matches a single character, because a pattern for the complete string would overflow the stack on a string of several
 * megabytes.
 */
const noBase64 = /[^A-Za-z0-9+/]/

export function hasFiles(message: z.output<typeof ChatInput>['message']): boolean {
  return typeof message !== 'string' && message.some(({ type }) => type === 'file')
}

/**
 * Reads and validates a message. Throws a 400 error that names the part if a file is too large, has the wrong type, is
 * not accepted by the agent, or belongs to another user.
 */
export async function readMessage(
  message: z.output<typeof ChatInput>['message'],
  of: OfMessage,
  parts: DraftParts,
): Promise<MessageDraft> {
  if (typeof message === 'string') return { text: message, parts: null, files: sumTokens([]) }
  const texts = message.filter((part) => part.type === 'text')
  const text = contentOf(texts)
  if (texts.length === message.length) return { text, parts: null, files: sumTokens([]) }
  const { left, path } = of
  if (message.length - texts.length > messageFilesMax) {
    throw badField(path, `Must have at most ${messageFilesMax} files`)
  }
  const draft: DraftPart[] = []
  const files: DraftFile[] = []
  for (const [index, part] of message.entries()) {
    if (part.type === 'text') {
      draft.push(part)
      continue
    }
    if (--left.files < 0) throw badField(path, `Must have at most ${requestFilesMax} files across all messages`)
    const file = await readFile(part, { ...of, path: `${path}[${index}]` }, parts)
    left.bytes -= file.bytes
    if (left.bytes < 0) {
      throw badField(path, `Must have files of at most ${parts.limits.messageFileBytesMax} bytes in total`)
    }
    files.push(file)
    draft.push({ type: 'file', file })
  }
  return { text, parts: draft, files: sumTokens(files) }
}

export function draftFiles({ parts }: MessageDraft): DraftFile[] {
  return parts?.flatMap((part) => (part.type === 'file' ? [part.file] : [])) ?? []
}

type OfFile = Of & { path: string }

async function readFile(part: FilePart, of: OfFile, parts: DraftParts): Promise<DraftFile> {
  const { chat, path, place } = of
  const { data, payloadId } = part
  if ((data === undefined) === (payloadId === undefined)) throw badField(path, 'Must have either data or payloadId')
  const given = part.mediaType === undefined ? undefined : plainType(part.mediaType, path)
  if (given !== undefined) assertAccepted(given, of)
  const found = payloadId === undefined ? undefined : await readOwn(payloadId, of, parts)
  const mediaType = given ?? found?.mediaType
  if (mediaType === undefined)
    throw badField(`${path}.mediaType`, 'Must be set if data is set, for example "image/png"')
  if (found && found.mediaType !== mediaType) {
    throw badField(`${path}.mediaType`, `Must be ${found.mediaType}, the type of that file, or omitted`)
  }
  const filename = part.filename ?? found?.filename
  if (found?.content === null) return { ...found, filename, ...fileTokens(found, chat) }
  const content = found?.content ?? decoded(data!, { bytesMax: parts.limits.fileBytesMax, path, place })
  const fault = contentFault(mediaType, content)
  if (fault !== undefined) throw badField(found ? `${path}.payloadId` : `${path}.data`, fault)
  const measured = { bytes: content.length, estimate: contentTokens({ content, mediaType }), mediaType }
  return { content, filename, ...measured, ...fileTokens(measured, chat) }
}

/** Removes the parameters of a media type, because browsers include the charset of text files. */
function plainType(mediaType: string, path: string): string {
  const plain = mediaType.split(';')[0]!.trim().toLowerCase()
  if (!mediaTypePattern.test(plain)) throw badField(`${path}.mediaType`, 'Must be a media type, such as "image/png"')
  return plain
}

function assertAccepted(mediaType: string, { chat: { accepts }, path }: OfFile): void {
  if (isAccepted(mediaType, accepts)) return
  const problem =
    accepts.length === 0
      ? 'Must be omitted, because this agent does not accept files'
      : `Must be a type that this agent accepts: ${accepts.join(', ')}`
  throw badField(`${path}.mediaType`, problem)
}

function decoded(
  data: string,
  { bytesMax, path, place }: Pick<OfFile, 'path' | 'place'> & { bytesMax: number },
): Buffer {
  if (data === '') throw badField(`${path}.data`, 'Must not be empty')
  const bytes = Buffer.byteLength(data, 'base64')
  if (bytes > bytesMax) throw tooLarge(`${path}.data`, bytesMax)
  if (!isBase64(data)) throw badField(`${path}.data`, 'Must be base64, with padding and without line breaks')
  takeBytes(place, bytes)
  return Buffer.from(data, 'base64')
}

/** Reserves memory before a file is read into it. Throws 503 if there is not enough. */
function takeBytes(place: Place, bytes: number): void {
  if (!place.hold(place.amount + bytes)) return
  const message = 'The service is processing too many files. Send the message again in a few seconds.'
  throw new ErrandError('SERVICE_UNAVAILABLE', message, { retryAfterSeconds: 5 })
}

function isBase64(data: string): boolean {
  return data.length % 4 === 0 && !noBase64.test(data.replace(base64Padding, ''))
}

function tooLarge(path: string, bytesMax: number) {
  return badField(path, `Must be at most ${bytesMax} bytes`)
}

type Found = { mediaType: string; filename: string | undefined } & (
  | { content: Buffer }
  | ({ content: null } & MeasuredFile)
)

/**
 * Reads a payload that belongs to the caller. Payloads of other users, and payloads that the credential may not read,
 * count as missing.
 */
async function readOwn(payloadId: string, of: OfFile, { limits, payloads, store }: DraftParts): Promise<Found> {
  const { caller } = of
  const path = `${of.path}.payloadId`
  const record = await store.findPayload(payloadId)
  const only = boundSessionOf(caller)
  const isReached = record?.userId === caller.userId && (only === null || record.sessionId === only)
  if (!record || !isReached) throw badField(path, 'Must be the payloadId of a file in one of your messages')
  const mediaType = record.mediaType ?? jsonType
  assertAccepted(mediaType, of)
  const filename = record.filename ?? undefined
  const measured = of.isOnlyWeighed ? measuredOf(record, mediaType) : undefined
  if (measured) {
    if (measured.bytes > limits.fileBytesMax) throw tooLarge(path, limits.fileBytesMax)
    return { content: null, filename, ...measured }
  }
  // Reading a stored file is as much work as decoding a file from the request.
  await of.onLarge()
  const found = await payloads.openStream(payloadId)
  if (!found) throw badField(path, 'Must be the payloadId of a file in one of your messages')
  if (found.bytes > limits.fileBytesMax) throw tooLarge(path, limits.fileBytesMax)
  takeBytes(of.place, found.bytes)
  const content = await payloads.readBytes(payloadId, record.digest)
  return { content, mediaType, filename }
}

/** Returns undefined for an old payload whose row contains no measurements. */
function measuredOf({ digest, tokens }: OwnedPayload, mediaType: string): MeasuredFile | undefined {
  if (!digest) return undefined
  const { bytes } = digest
  const estimate = isTextType(mediaType) ? textTokens(bytes) : tokens
  return estimate === null ? undefined : { bytes, estimate, mediaType }
}
