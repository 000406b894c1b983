import { createHash } from 'node:crypto'
import type { PayloadDigest } from './stored-json.ts'
import { assertWhole, PayloadDamage } from './payload-digest.ts'
import type { PayloadContent } from './payload-store.ts'

/** Max bytes of a part. Parts of a string end between characters, so they may be up to three bytes smaller. */
export const partBytesMax = 1_048_576

/**
 * Splits content into parts, created one at a time. A string becomes UTF-8, and none of its parts ends inside a
 * character.
 */
export function* contentParts(content: PayloadContent): Generator<Buffer, void> {
  if (typeof content === 'string') return yield* textParts(content, partBytesMax)
  for (let at = 0; at < content.length; at += partBytesMax) yield content.subarray(at, at + partBytesMax)
}

function* textParts(json: string, bytesMax: number): Generator<Buffer, void> {
  if (Buffer.byteLength(json) <= bytesMax) return yield Buffer.from(json)
  const encoder = new TextEncoder()
  for (let at = 0; at < json.length;) {
    const slice = json.slice(at, at + bytesMax)
    // If the slice cut a character, its first half would be encoded as a different character.
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
 * Decodes parts, which can end inside a character. Throws if the content differs from what was written. Keeps no part
 * in memory longer than needed.
 */
export async function checkedText(
  parts: AsyncIterable<Buffer>,
  { digest, payloadId }: { payloadId: string; digest: PayloadDigest | null },
): Promise<string> {
  const sha256 = createHash('sha256')
  // A byte order mark counts as an ordinary character.
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

/** Like `checkedText`, but for content that may be binary. */
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
