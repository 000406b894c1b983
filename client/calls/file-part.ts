import type { ChatMessagePart } from '../types/client-types.ts'

export type ChatFilePart = Extract<ChatMessagePart, { type: 'file' }>

/** Bytes per `btoa` call. Limited because `String.fromCharCode` takes one argument per character. */
const chunkBytes = 24_576

/**
 * Creates a message part from a Blob or File, such as one from a file input. In Node, use `await openAsBlob(path, {
 * type })`. Throws a TypeError if the media type is unknown.
 *
 * @example
 * const message = [{ type: 'text', text: 'What is this?' } as const, await filePart(input.files[0])]
 * for await (const event of client.chat.stream({ sessionId, message })) …
 */
export async function filePart(
  file: Blob,
  { filename, mediaType = file.type }: { filename?: string; mediaType?: string } = {},
): Promise<ChatFilePart> {
  if (mediaType === '') throw new TypeError('The file has no media type. Pass one as `mediaType`, such as "image/png".')
  const bytes = new Uint8Array(await file.arrayBuffer())
  let data = ''
  for (let at = 0; at < bytes.length; at += chunkBytes) {
    data += btoa(String.fromCharCode(...bytes.subarray(at, at + chunkBytes)))
  }
  const own = 'name' in file && typeof file.name === 'string' && file.name !== '' ? file.name : undefined
  const name = filename ?? own
  return { type: 'file', mediaType, data, ...(name !== undefined && { filename: name }) }
}
