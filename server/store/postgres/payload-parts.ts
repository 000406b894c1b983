import { createHash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { Readable } from 'node:stream'
import type { Clock } from '../../kernel/clock.ts'
import { isId } from '../../kernel/ids.ts'
import { checkedBytes, checkedText, contentParts, mayContinue } from '../../payloads/content-parts.ts'
import { PayloadDamage } from '../../payloads/payload-digest.ts'
import {
  NewPayloads,
  notRead,
  notStored,
  type PayloadContent,
  type PayloadStore,
} from '../../payloads/payload-store.ts'
import type { PayloadDigest } from '../../payloads/stored-json.ts'
import { openPool } from './connection/database.ts'
import type { PgPool, PgResult } from './connection/driver.ts'
import { isLostConnection } from './connection/pg-errors.ts'
import { databaseTime } from './connection/pooled-connection.ts'
import { silentMsMax } from './connection/transactions.ts'

// Payloads are stored in rows of at most 1 MiB. Their queries use a separate connection pool, because a few large
// payloads would delay commands in the store's pool.

const connectionsMax = 4
const triesMax = 3
const pageRows = 500
const rowsMax = 20_000
const looksAtOnce = 4

// An upsert, because the writer retries with the same content if the first answer is lost.
const putPart = `INSERT INTO payload_parts (payload_id, part, content, created_at) VALUES ($1, $2, $3, ${databaseTime})
  ON CONFLICT (payload_id, part) DO UPDATE SET content = excluded.content`
const getPart = 'SELECT content FROM payload_parts WHERE payload_id = $1 AND part = $2'
const sizeOf = 'SELECT sum(octet_length(content))::float8 AS bytes FROM payload_parts WHERE payload_id = $1'
const oldOnes = `SELECT payload_id AS id, created_at::float8 AS "createdAt" FROM payload_parts
  WHERE part = 0 AND created_at >= $1 AND (created_at, payload_id) > ($1, $2) AND created_at < ${databaseTime} - $3::float8
  ORDER BY created_at, payload_id LIMIT ${pageRows}`
const remove = 'DELETE FROM payload_parts WHERE payload_id = ANY($1)'

type PartPlace = { createdAt: number; id: string }

export class PostgresPayloadStore extends NewPayloads implements PayloadStore {
  readonly #pool: PgPool
  /** Query timeout. Without it, a run would wait 15 minutes for a payload if the server became unreachable. */
  readonly #inTime: { query_timeout: number }
  /**
   * Last part that earlier orphan collections checked. All payloads up to this one belong to a task or turn and are not
   * checked again.
   */
  #seen: PartPlace = { createdAt: 0, id: '' }
  #closing: Promise<void> | undefined

  constructor(databaseUrl: string, clock: Clock, silentMs = silentMsMax) {
    super(clock)
    this.#inTime = { query_timeout: silentMs }
    this.#pool = openPool(databaseUrl, connectionsMax)
  }

  async writeAs(payloadId: string, content: PayloadContent): Promise<PayloadDigest> {
    try {
      return await repeated(() => this.#put(payloadId, content))
    } catch (error) {
      throw notStored(error)
    }
  }

  protected async discard(payloadId: string): Promise<void> {
    await this.#remove([payloadId])
  }

  async read(payloadId: string, digest: PayloadDigest | null): Promise<string> {
    return await checkedText(this.#parts(payloadId), { payloadId, digest })
  }

  async readBytes(payloadId: string, digest: PayloadDigest | null): Promise<Buffer> {
    return await checkedBytes(this.#parts(payloadId), { payloadId, digest })
  }

  async openStream(payloadId: string): Promise<{ bytes: number; stream: () => Readable } | undefined> {
    if (!isId('pay', payloadId)) return undefined
    const { rows } = await this.#read('payload_size', { text: sizeOf, values: [payloadId] })
    const { bytes } = rows[0] as { bytes: number | null }
    if (bytes === null) return undefined
    return { bytes, stream: () => Readable.from(this.#parts(payloadId), { objectMode: false }) }
  }

  async collectOrphans(olderThanMs: number, hasRow: (payloadId: string) => Promise<boolean>): Promise<number> {
    let removed = 0
    let at = this.#seen
    let isHeld = false
    for (let looked = 0; looked < rowsMax; looked += pageRows) {
      const { rows } = await this.#read('payload_old', { text: oldOnes, values: [at.createdAt, at.id, olderThanMs] })
      const page = rows as PartPlace[]
      const orphans: string[] = []
      for (let first = 0; first < page.length; first += looksAtOnce) {
        const few = page.slice(first, first + looksAtOnce).filter(({ id }) => !this.unsettled.has(id))
        const named = await Promise.all(few.map(({ id }) => hasRow(id)))
        orphans.push(...few.filter((_, index) => !named[index]).map(({ id }) => id))
      }
      if (orphans.length > 0) await this.#remove(orphans)
      removed += orphans.length
      // The payload of a running command may become an orphan, so the next collection checks it again.
      isHeld ||= page.some(({ id }) => this.unsettled.has(id))
      at = page.at(-1) ?? at
      if (!isHeld) this.#seen = at
      if (page.length < pageRows) break
    }
    return removed
  }

  close(): Promise<void> {
    this.#closing ??= this.#pool.end()
    return this.#closing
  }

  async #remove(payloadIds: string[]): Promise<void> {
    await this.#pool.query({ name: 'payload_remove', text: remove, values: [payloadIds], ...this.#inTime })
  }

  async #put(payloadId: string, whole: PayloadContent): Promise<PayloadDigest> {
    const sha256 = createHash('sha256')
    let bytes = 0
    const parts = contentParts(whole)
    const hashed = (content: Buffer) => {
      sha256.update(content)
      bytes += content.length
      return content
    }
    const first = hashed(parts.next().value!)
    const second = parts.next().value
    const put = { name: 'payload_put', text: putPart, ...this.#inTime }
    const values = [payloadId, 0, first]
    if (!second) await this.#pool.query({ ...put, values })
    else {
      const client = await this.#pool.connect()
      let isWhole = false
      try {
        await client.query({ text: 'BEGIN', ...this.#inTime })
        await client.query({ ...put, values })
        let part = 1
        for (let content: Buffer | void = second; content; content = parts.next().value) {
          await client.query({ ...put, values: [payloadId, part++, hashed(content)] })
        }
        await client.query({ text: 'COMMIT', ...this.#inTime })
        isWhole = true
      } finally {
        // Closing the connection rolls the transaction back.
        client.release(!isWhole)
      }
    }
    return { bytes, sha256: sha256.digest('base64url') }
  }

  async *#parts(payloadId: string): AsyncGenerator<Buffer, void> {
    for (let part = 0; ; part++) {
      const { rows } = await this.#read('payload_get', { text: getPart, values: [payloadId, part] })
      const row = rows[0] as { content: Buffer } | undefined
      if (!row && part === 0) throw new PayloadDamage(payloadId)
      if (!row) return
      yield row.content
      if (!mayContinue(row.content.length)) return
    }
  }

  async #read(name: string, query: { text: string; values: readonly unknown[] }): Promise<PgResult> {
    try {
      return await repeated(() => this.#pool.query({ name, ...query, ...this.#inTime }))
    } catch (error) {
      throw notRead(error)
    }
  }
}

/** Retries after a lost connection, because the server may have restarted. */
async function repeated<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries++) {
    try {
      return await work()
    } catch (error) {
      if (tries === triesMax || !isLostConnection(error)) throw error
    }
    await pause(100 * tries)
  }
}
