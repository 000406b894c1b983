import type { Readable } from 'node:stream'
import type { Clock } from '../kernel/clock.ts'
import { ErrandError } from '../kernel/errors.ts'
import { newId } from '../kernel/ids.ts'
import type { PayloadDigest } from '../store/records.ts'

export type WrittenPayload = { id: string; digest: PayloadDigest }
/** Never empty; a text is kept as UTF-8. */
export type PayloadContent = string | Buffer

/**
 * Where JSON that is too large for a row and the files of messages are kept: files, PostgreSQL or a bucket. The digest that `write` returns stands
 * in the row that names the payload, and each read is checked against it; it is null for what has none.
 *
 * A payload is there before its row, and one that no row ever names is an orphan. Any node may collect the orphans of
 * all, so they are told by their age: nothing is written and named further apart than that.
 */
export type PayloadStore = {
  /** Durable when it resolves. The caller names it in a row, then calls `release`. */
  write(content: PayloadContent): Promise<WrittenPayload>
  /** Durable when it resolves: the content of a payload that a row names, for copies from another store. May be repeated. */
  writeAs(payloadId: string, content: PayloadContent): Promise<PayloadDigest>
  /** Ends the protection of a new payload: its row is committed, or (`discard`) never will be. */
  release(payloadId: string, discard?: boolean): Promise<void>
  /** Throws PayloadDamage when it is no longer what was written. */
  read(payloadId: string, digest: PayloadDigest | null): Promise<string>
  /** As `read`, where the content need be no text. */
  readBytes(payloadId: string, digest: PayloadDigest | null): Promise<Buffer>
  /** Undefined when there is none. The stream is not opened before it is read, and not checked: see `checkedChunks`. */
  openStream(payloadId: string): Promise<{ bytes: number; stream: () => Readable } | undefined>
  /** Removes what is older than `olderThanMs` and named by no row, a bounded number at a time; returns how many. */
  collectOrphans(olderThanMs: number, hasRow: (payloadId: string) => Promise<boolean>): Promise<number>
  close(): Promise<void>
}

/** What every place does alike with new payloads. */
export abstract class NewPayloads {
  readonly #clock: Clock
  /** Written by this process, but not yet named by a committed row: no orphans yet. */
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
    // What cannot be removed now is an orphan, which is collected later.
    if (discard) await this.discard(payloadId).catch(() => {})
    this.unsettled.delete(payloadId)
  }

  protected abstract discard(payloadId: string): Promise<void>
}

/** Where the store can be reached by a network, a fault of it is an answer of its own and no error of the request. */
export function notStored(cause: unknown): ErrandError {
  return unavailable('The payload could not be stored. Nothing was changed.', cause)
}

export function notRead(cause: unknown): ErrandError {
  return unavailable('The payload could not be read.', cause)
}

function unavailable(message: string, cause: unknown): ErrandError {
  return new ErrandError('SERVICE_UNAVAILABLE', message, { retryAfterSeconds: 5, cause })
}
