import { createHash, hash } from 'node:crypto'
import type { PayloadDigest } from './stored-json.ts'

export class PayloadDamage extends Error {
  override readonly name = 'PayloadDamage'

  constructor(payloadId: string) {
    super(`The stored payload ${payloadId} is damaged. Restore it from a backup.`)
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

/** The content is not checked if `digest` is null. */
type Checked = { payloadId: string; digest: PayloadDigest | null }

/**
 * Yields the chunks of a stored payload, and throws PayloadDamage if they do not match the digest. The last chunk is
 * yielded only after this check, so a damaged payload never appears complete.
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
