import { Worker } from 'node:worker_threads'
import { siblingModule } from '../../kernel/sibling-module.ts'
import type { LedgerReport } from '../store.ts'

/** Reads the whole ledger in a thread of its own, on a connection of its own, so that it holds up no request. */
export class LedgerCheck {
  readonly #file: string
  readonly #running = new Set<Worker>()

  constructor(databaseFile: string) {
    this.#file = databaseFile
  }

  /** Rejects when the database cannot be read, or when the store is closed first. */
  async run(): Promise<LedgerReport> {
    const worker = new Worker(siblingModule(import.meta.url, 'verify-thread'), { workerData: { file: this.#file } })
    this.#running.add(worker)
    return await new Promise<LedgerReport>((resolve, reject) => {
      worker.once('message', resolve)
      worker.once('error', reject)
      worker.once('exit', () => {
        this.#running.delete(worker)
        reject(new Error('The check of the ledger was ended.'))
      })
    })
  }

  /** Ends what runs. A connection that outlived the store would write beside the WAL into a folder that is no longer ours. */
  async close(): Promise<void> {
    await Promise.all([...this.#running].map(async (worker) => await worker.terminate()))
  }
}
