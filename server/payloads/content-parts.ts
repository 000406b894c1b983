import { createHash } from 'node:crypto'
import type { PayloadDigest } from './stored-json.ts'
import { assertWhole, PayloadDamage } from './payload-digest.ts'
import type { PayloadContent } from './payload-store.ts'

/**
 * Maximum size of a part in bytes. A character is never split between two parts, so a part of a string can be up to
 * three bytes smaller.
 */
export const partBytesMax = 1_048_576

/** Yields the content in parts. Strings are encoded as UTF-8. */
export function* contentParts(content: PayloadContent): Generator<Buffer, void> {
  if (typeof content === 'string') return yield* textParts(content, partBytesMax)
  for (let at = 0; at < content.length; at += partBytesMax) yield content.subarray(at, at + partBytesMax)
}

function* textParts(json: string, bytesMax: number): Generator<Buffer, void> {
  if (Buffer.byteLength(json) <= bytesMax) return yield Buffer.from(json)
  const encoder = new TextEncoder()
  for (let at = 0; at < json.length;) {
    const slice = json.slice(at, at + bytesMax)
    // If the slice ends inside a surrogate pair, the encoder would replace its first half with U+FFFD.
    const isCut = at + slice.length < json.length && /[\uD800-\uDBFF]$/.test(slice)
    const part = Buffer.allocUnsafe(bytesMax)
    const { read, written } = encoder.encodeInto(isCut ? slice.slice(0, -1) : slice, part)
    at += read
    yield part.subarray(0, written)
  }
}

/** Whether another part may follow a part of this length. */
export function mayContinue(bytes: number): boolean {
  return bytes > partBytesMax - 4
}

/**
 * Decodes a stream of UTF-8 parts without keeping the raw bytes in memory. Throws PayloadDamage if the content does
 * not match its digest.
 */
export async function checkedText(
  parts: AsyncIterable<Buffer>,
  { digest, payloadId }: { payloadId: string; digest: PayloadDigest | null },
): Promise<string> {
  const sha256 = createHash('sha256')
  // Keep a leading byte order mark in the text.
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  let bytes = 0
  let text = ''
  for await (const part of parts) {
    bytes += part.length
    if (digest) sha256.update(part)
    text += decoder.decode(part, { stream: true })
  }
  if (bytes === 0) throw new PayloadDamage(payloadId)
  if (digest && (bytes !== digest.bytes || sha256.digest('base64url') !== digest.sha256)) {
    throw new PayloadDamage(payloadId)
  }
  return text + decoder.decode()
}

export async function checkedBytes(
  parts: AsyncIterable<Buffer>,
  { digest, payloadId }: { payloadId: string; digest: PayloadDigest | null },
): Promise<Buffer> {
  const read: Buffer[] = []
  for await (const part of parts) read.push(part)
  const content = Buffer.concat(read)
  if (content.length === 0) throw new PayloadDamage(payloadId)
  if (digest) assertWhole(payloadId, content, digest)
  return content
}
