import type { Readable } from 'node:stream'
import type { Clock } from '../kernel/clock.ts'
import { ErrandError } from '../kernel/errors.ts'
import { newId } from '../kernel/ids.ts'
import type { PayloadDigest } from './stored-json.ts'

export type WrittenPayload = { id: string; digest: PayloadDigest }
/** Must not be empty. Strings are stored as UTF-8. */
export type PayloadContent = string | Buffer

/**
 * Stores message files, and JSON that is too large for a row. The implementations use files, PostgreSQL or a bucket.
 * `write` returns a digest, which the caller stores in the row that refers to the payload. Each read checks the content
 * against this digest. Old payloads have a null digest and are not checked.
 *
 * A payload is written before its row. A payload without a row is an orphan, and any node may delete the orphans of all
 * nodes. A recent payload may still get its row, so only payloads above a minimum age count as orphans.
 */
export type PayloadStore = {
  /**
   * Writes the content and resolves when it is durable. The caller then inserts a row that refers to the payload, and
   * calls `release`.
   */
  write(content: PayloadContent): Promise<WrittenPayload>
  /**
   * Writes a payload under an existing id, to copy payloads from another store. Resolves when the content is durable.
   * Idempotent.
   */
  writeAs(payloadId: string, content: PayloadContent): Promise<PayloadDigest>
  /**
   * Stops protecting a new payload from orphan collection. Call this after its row is committed. If the row will never
   * be committed, set `discard` to delete the payload.
   */
  release(payloadId: string, discard?: boolean): Promise<void>
  /** Throws PayloadDamage if the content does not match the digest. */
  read(payloadId: string, digest: PayloadDigest | null): Promise<string>
  readBytes(payloadId: string, digest: PayloadDigest | null): Promise<Buffer>
  /**
   * Returns undefined if the payload does not exist. The stream opens on the first read and does not check the content.
   * To check it, use `checkedChunks`.
   */
  openStream(payloadId: string): Promise<{ bytes: number; stream: () => Readable } | undefined>
  /**
   * Deletes payloads that are older than `olderThanMs` and have no row. Each call handles one batch. Returns the number
   * of deleted payloads.
   */
  collectOrphans(olderThanMs: number, hasRow: (payloadId: string) => Promise<boolean>): Promise<number>
  close(): Promise<void>
}

/** Base class of the stores. Protects new payloads from orphan collection until they are released. */
export abstract class NewPayloads {
  readonly #clock: Clock
  /** Ids of payloads that this process has written but not released. They do not count as orphans. */
  protected readonly unsettled = new Set<string>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  async write(content: PayloadContent): Promise<WrittenPayload> {
    const id = newId('pay', this.#clock.now())
    this.unsettled.add(id)
    try {
      return { id, digest: await this.writeAs(id, content) }
    } catch (error) {
      await this.release(id, true)
      throw error
    }
  }

  abstract writeAs(payloadId: string, content: PayloadContent): Promise<PayloadDigest>

  async release(payloadId: string, discard = false): Promise<void> {
    // If the payload cannot be deleted now, orphan collection deletes it later.
    if (discard) await this.discard(payloadId).catch(() => {})
    this.unsettled.delete(payloadId)
  }

  protected abstract discard(payloadId: string): Promise<void>
}

/** Returns a 503 error for a failed write, because a network store can fail temporarily. */
export function notStored(cause: unknown): ErrandError {
  return unavailable('Could not store the payload, so nothing was changed. Try again.', cause)
}

export function notRead(cause: unknown): ErrandError {
  return unavailable('Could not read the payload. Try again.', cause)
}

function unavailable(message: string, cause: unknown): ErrandError {
  return new ErrandError('SERVICE_UNAVAILABLE', message, { retryAfterSeconds: 5, cause })
}
