import { MessageChannel, receiveMessageOnPort, Worker, type MessagePort } from 'node:worker_threads'
import type { LedgerReport } from '../../server/store/ledger/ledger-report.ts'

export type RowsRequest = { queries: { text: string; values: unknown[] }[] } | { verify: true } | { close: true }
export type RowsReply = { rows: unknown[][] } | { report: LedgerReport } | { error: string }

const program = new URL('./postgres-rows-thread.ts', import.meta.url)
const answerMsMax = 120_000
const opened = new Map<string, PostgresRows>()

/**
 * Synchronous reads of PostgreSQL, like SQLite's: a worker thread queries the server while this thread blocks. So the
 * rows cannot change between a check's read and its end.
 */
export class PostgresRows {
  readonly #signal: Int32Array
  readonly #port: MessagePort
  readonly #url: string

  private constructor(url: string) {
    this.#url = url
    this.#signal = new Int32Array(new SharedArrayBuffer(4))
    const { port1, port2 } = new MessageChannel()
    this.#port = port1
    port1.unref()
    const workerData = { url, signal: this.#signal, port: port2 }
    new Worker(program, { workerData, transferList: [port2] }).unref()
  }

  /** Returns the database's reader, which all callers share. */
  static of(url: string): PostgresRows {
    let rows = opened.get(url)
    if (!rows) opened.set(url, (rows = new PostgresRows(url)))
    return rows
  }

  all<Row>(sql: string, ...values: unknown[]): Row[] {
    return this.snapshot([[sql, ...values]])[0] as Row[]
  }

  snapshot(queries: readonly (readonly [sql: string, ...values: unknown[]])[]): unknown[][] {
    const sent = queries.map(([sql, ...values]) => {
      let n = 0
      return { text: sql.replaceAll('?', () => `$${++n}`), values }
    })
    return (this.#ask({ queries: sent }) as { rows: unknown[][] }).rows
  }

  verifyLedger(): LedgerReport {
    return (this.#ask({ verify: true }) as { report: LedgerReport }).report
  }

  #ask(request: RowsRequest): RowsReply {
    const before = Atomics.load(this.#signal, 0)
    this.#port.postMessage(request)
    // The worker increments the counter before it wakes this thread, so a late wake-up may belong to the previous
    // query.
    while (Atomics.load(this.#signal, 0) === before) {
      if (Atomics.wait(this.#signal, 0, before, answerMsMax) === 'timed-out')
        throw new Error('PostgreSQL does not answer')
    }
    const reply = receiveMessageOnPort(this.#port)!.message as RowsReply
    if ('error' in reply) throw new Error(reply.error)
    return reply
  }

  close(): void {
    opened.delete(this.#url)
    this.#ask({ close: true })
    this.#port.close()
  }
}
