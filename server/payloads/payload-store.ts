import type { Readable } from 'node:stream'
import type { Clock } from '../kernel/clock.ts'
import { ErrandError } from '../kernel/errors.ts'
import { newId } from '../kernel/ids.ts'
import type { PayloadDigest } from './stored-json.ts'

export type WrittenPayload = { id: string; digest: PayloadDigest }
/** Never empty; a string is stored as UTF-8. */
export type PayloadContent = string | Buffer

/**
 * Store for JSON that is too large for a row, and for the files of messages: files, PostgreSQL or a bucket. The digest
 * that `write` returns is in the row that names the payload, and each read is checked against it. It is null for
 * payloads without one.
 *
 * A payload exists before its row, and one that no row ever names is an orphan. Any node may collect the orphans of all
 * nodes, so they are recognized by age: a payload is always named sooner than that.
 */
export type PayloadStore = {
  /** Durable when it resolves. The caller names the payload in a row, then calls `release`. */
  write(content: PayloadContent): Promise<WrittenPayload>
  /** Writes the content of a payload that a row names, for copies from another store. Durable when it resolves. Idempotent. */
  writeAs(payloadId: string, content: PayloadContent): Promise<PayloadDigest>
  /** Ends the protection of a new payload: its row is committed, or (`discard`) never will be. */
  release(payloadId: string, discard?: boolean): Promise<void>
  /** Throws PayloadDamage if it is no longer what was written. */
  read(payloadId: string, digest: PayloadDigest | null): Promise<string>
  /** Like `read`, for content that need not be text. */
  readBytes(payloadId: string, digest: PayloadDigest | null): Promise<Buffer>
  /** Undefined if it does not exist. The stream opens on the first read and checks nothing: see `checkedChunks`. */
  openStream(payloadId: string): Promise<{ bytes: number; stream: () => Readable } | undefined>
  /** Removes payloads older than `olderThanMs` that no row names, a bounded number at a time. Returns the number removed. */
  collectOrphans(olderThanMs: number, hasRow: (payloadId: string) => Promise<boolean>): Promise<number>
  close(): Promise<void>
}

/** Handling of new payloads that all stores share. */
export abstract class NewPayloads {
  readonly #clock: Clock
  /** Payloads written by this process that no committed row names yet. They are not orphans. */
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
    // A payload that cannot be removed now is an orphan, and is collected later.
    if (discard) await this.discard(payloadId).catch(() => {})
    this.unsettled.delete(payloadId)
  }

  protected abstract discard(payloadId: string): Promise<void>
}

/** A store behind a network can fail, so its faults have their own response (503), not that of an internal error. */
export function notStored(cause: unknown): ErrandError {
  return unavailable('The payload could not be stored. Nothing was changed.', cause)
}

export function notRead(cause: unknown): ErrandError {
  return unavailable('The payload could not be read.', cause)
}

function unavailable(message: string, cause: unknown): ErrandError {
  return new ErrandError('SERVICE_UNAVAILABLE', message, { retryAfterSeconds: 5, cause })
}
