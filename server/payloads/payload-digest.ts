import { createHash, hash } from 'node:crypto'
import type { PayloadDigest } from './stored-json.ts'

/** A stored payload differs from what was written, so it must not be served. */
export class PayloadDamage extends Error {
  override readonly name = 'PayloadDamage'

  constructor(payloadId: string) {
    super(`The stored payload ${payloadId} is damaged: its content differs from what was written.`)
  }
}

export function digestOf(content: Buffer): PayloadDigest {
  return { bytes: content.length, sha256: hash('sha256', content, 'base64url') }
}

export function assertWhole(payloadId: string, content: Buffer, digest: PayloadDigest): void {
  if (content.length !== digest.bytes || hash('sha256', content, 'base64url') !== digest.sha256) {
    throw new PayloadDamage(payloadId)
  }
}

/** Without a digest, nothing is checked. */
type Checked = { payloadId: string; digest: PayloadDigest | null }

/**
 * Yields the chunks of a stored payload. Throws if they differ from what was written. Yields the last chunk only after
 * this check, so that a damaged payload never appears complete.
 */
export async function* checkedChunks(
  chunks: AsyncIterable<Buffer>,
  { payloadId, digest }: Checked,
): AsyncGenerator<Buffer, void> {
  const sha256 = createHash('sha256')
  let bytes = 0
  let last: Buffer | undefined
  for await (const chunk of chunks) {
    if (last) yield last
    sha256.update(chunk)
    bytes += chunk.length
    last = chunk
  }
  if (digest && (bytes !== digest.bytes || sha256.digest('base64url') !== digest.sha256))
    throw new PayloadDamage(payloadId)
  if (last) yield last
}
