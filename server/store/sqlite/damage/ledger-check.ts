import { Worker } from 'node:worker_threads'
import { siblingModule } from '../../../kernel/threads/sibling-module.ts'
import type { LedgerReport } from '../../ledger/ledger-report.ts'

export type VerifyThreadData = { file: string; stop: SharedArrayBuffer }
/** `damage` is the first defect in the file. The ledger of a damaged file is not verified. */
export type Verified = { report: LedgerReport } | { damage: string }

/**
 * Checks the database file and verifies the ledger, on a separate thread and connection so that requests are not
 * delayed.
 */
export class LedgerCheck {
  readonly #file: string
  readonly #running = new Set<Promise<unknown>>()
  /** A nonzero value makes running checks stop. */
  readonly #stop = new Int32Array(new SharedArrayBuffer(4))

  readonly #onDamage: (damage: string) => Error

  /** If the file is damaged, `run` rejects with the error that `onDamage` returns. */
  constructor(databaseFile: string, onDamage: (damage: string) => Error) {
    this.#file = databaseFile
    this.#onDamage = onDamage
  }

  /** Rejects if the database cannot be read, or if the store closes first. */
  async run(): Promise<LedgerReport> {
    const workerData: VerifyThreadData = { file: this.#file, stop: this.#stop.buffer }
    const worker = new Worker(siblingModule(import.meta.url, 'verify-thread'), { workerData })
    const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve()))
    this.#running.add(ended)
    void ended.then(() => this.#running.delete(ended))
    const verified = await new Promise<Verified>((resolve, reject) => {
      worker.once('message', resolve)
      worker.once('error', reject)
      worker.once('exit', () => reject(new Error('The ledger check stopped before it finished. Run it again.')))
    })
    if ('damage' in verified) throw this.#onDamage(verified.damage)
    return verified.report
  }

  /**
   * Makes running checks stop after their current statement. If a check's connection outlived the store, SQLite could
   * write WAL files to a folder that this process no longer owns. The threads must exit on their own, because
   * better-sqlite3 crashes the process if a thread is terminated during a call.
   */
  async close(): Promise<void> {
    Atomics.store(this.#stop, 0, 1)
    await Promise.all(this.#running)
  }
}
