import type { Readable } from 'node:stream'
import type { Clock } from '../kernel/clock.ts'
import { ErrandError } from '../kernel/errors.ts'
import { newId } from '../kernel/ids.ts'
import type { PayloadDigest } from './stored-json.ts'

export type WrittenPayload = { id: string; digest: PayloadDigest }
/** Never empty; a string is stored as UTF-8. */
export type PayloadContent = string | Buffer

/**
 * Store for JSON that is too large for a row, and for the files of messages: files, PostgreSQL or a bucket. The row
 * that refers to a payload contains the digest that `write` returned. Each read is checked against the digest, which is
 * null for payloads that were stored without one.
 *
 * A payload is written before its row. A payload that never gets a row is an orphan. Any node may collect the orphans
 * of all nodes. Only payloads above a certain age count as orphans, because younger payloads may still get their row.
 */
export type PayloadStore = {
  /**
   * Resolves when the content is durable. The caller then adds a row that refers to the payload, and calls `release`.
   */
  write(content: PayloadContent): Promise<WrittenPayload>
  /**
   * Writes the content of a payload that already has a row, for copies from another store. Resolves when the content is
   * durable. Idempotent.
   */
  writeAs(payloadId: string, content: PayloadContent): Promise<PayloadDigest>
  /**
   * Ends the protection of a new payload from orphan collection. Call it once its row is committed. With `discard`,
   * also deletes the payload, which will never have a row.
   */
  release(payloadId: string, discard?: boolean): Promise<void>
  /** Throws PayloadDamage if the content differs from what was written. */
  read(payloadId: string, digest: PayloadDigest | null): Promise<string>
  /** Like `read`, but for content that may be binary. */
  readBytes(payloadId: string, digest: PayloadDigest | null): Promise<Buffer>
  /**
   * Undefined if the payload does not exist. The stream opens on the first read and is not checked: see
   * `checkedChunks`.
   */
  openStream(payloadId: string): Promise<{ bytes: number; stream: () => Readable } | undefined>
  /**
   * Removes a bounded number of payloads that are older than `olderThanMs` and have no row. Returns the number removed.
   */
  collectOrphans(olderThanMs: number, hasRow: (payloadId: string) => Promise<boolean>): Promise<number>
  close(): Promise<void>
}

/** Handling of new payloads, shared by all stores. */
export abstract class NewPayloads {
  readonly #clock: Clock
  /** Payloads written by this process that have no committed row yet. They are not orphans. */
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
    // A payload that cannot be removed now becomes an orphan, which is collected later.
    if (discard) await this.discard(payloadId).catch(() => {})
    this.unsettled.delete(payloadId)
  }

  protected abstract discard(payloadId: string): Promise<void>
}

/**
 * Error for a failed write. A store on the network can fail temporarily, so this is a 503 and not an internal error.
 */
export function notStored(cause: unknown): ErrandError {
  return unavailable('The payload could not be stored, so nothing was changed. Try again.', cause)
}

export function notRead(cause: unknown): ErrandError {
  return unavailable('The payload could not be read. Try again.', cause)
}

function unavailable(message: string, cause: unknown): ErrandError {
  return new ErrandError('SERVICE_UNAVAILABLE', message, { retryAfterSeconds: 5, cause })
}
