import { Worker } from 'node:worker_threads'
import { siblingModule } from '../../../kernel/sibling-module.ts'
import type { LedgerReport } from '../../store.ts'

export type VerifyThreadData = { file: string; stop: SharedArrayBuffer }
/** `damage` is what is wrong with the file, which then has no ledger to be believed. */
export type Verified = { report: LedgerReport } | { damage: string }

/** Checks the database file and reads the whole ledger in a thread of its own, on a connection of its own, so that it holds up no request. */
export class LedgerCheck {
  readonly #file: string
  readonly #running = new Set<Promise<unknown>>()
  /** Not 0 when what runs is to end. */
  readonly #stop = new Int32Array(new SharedArrayBuffer(4))

  readonly #onDamage: (damage: string) => Error

  /** `onDamage` makes the error that the check rejects with. */
  constructor(databaseFile: string, onDamage: (damage: string) => Error) {
    this.#file = databaseFile
    this.#onDamage = onDamage
  }

  /** Rejects when the database cannot be read, or when the store is closed first. */
  async run(): Promise<LedgerReport> {
    const workerData: VerifyThreadData = { file: this.#file, stop: this.#stop.buffer }
    const worker = new Worker(siblingModule(import.meta.url, 'verify-thread'), { workerData })
    const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve()))
    this.#running.add(ended)
    void ended.then(() => this.#running.delete(ended))
    const verified = await new Promise<Verified>((resolve, reject) => {
      worker.once('message', resolve)
      worker.once('error', reject)
      worker.once('exit', () => reject(new Error('The check of the ledger was ended.')))
    })
    if ('damage' in verified) throw this.#onDamage(verified.damage)
    return verified.report
  }

  /**
   * Lets what runs end after the statement that it is at. A connection that outlived the store would write beside the
   * WAL into a folder that is no longer ours. The threads are asked, not terminated: better-sqlite3 takes the process
   * down when its thread is terminated within a call of it.
   */
  async close(): Promise<void> {
    Atomics.store(this.#stop, 0, 1)
    await Promise.all(this.#running)
  }
}
