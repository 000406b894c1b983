import { Worker } from 'node:worker_threads'
import { siblingModule } from '../../kernel/sibling-module.ts'
import type { LedgerReport } from '../store.ts'

export type VerifyThreadData = { file: string; stop: SharedArrayBuffer }

/** Reads the whole ledger in a thread of its own, on a connection of its own, so that it holds up no request. */
export class LedgerCheck {
  readonly #file: string
  readonly #running = new Set<Promise<unknown>>()
  /** Not 0 when what runs is to end. */
  readonly #stop = new Int32Array(new SharedArrayBuffer(4))

  constructor(databaseFile: string) {
    this.#file = databaseFile
  }

  /** Rejects when the database cannot be read, or when the store is closed first. */
  async run(): Promise<LedgerReport> {
    const workerData: VerifyThreadData = { file: this.#file, stop: this.#stop.buffer }
    const worker = new Worker(siblingModule(import.meta.url, 'verify-thread'), { workerData })
    const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve()))
    this.#running.add(ended)
    void ended.then(() => this.#running.delete(ended))
    return await new Promise<LedgerReport>((resolve, reject) => {
      worker.once('message', resolve)
      worker.once('error', reject)
      worker.once('exit', () => reject(new Error('The check of the ledger was ended.')))
    })
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
