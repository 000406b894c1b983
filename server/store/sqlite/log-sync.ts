import { closeSync, openSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import { siblingModule } from '../../kernel/sibling-module.ts'

export type LogToSync = { id: number; fd: number }
/** `code` is absent if the log is on the disk. */
export type LogSynced = { id: number; code: string | undefined }

/**
 * One thread for all stores of the process. Node's own pool would do, but agents and password hashes share it, and what
 * they block would hold up every commit.
 */
class SyncThread {
  readonly #worker = new Worker(siblingModule(import.meta.url, 'log-sync-thread'), { name: 'log sync' })
  readonly #pending = new Map<number, PromiseWithResolvers<void>>()
  #lastId = 0
  hasEnded = false

  constructor() {
    this.#worker.on('message', ({ code, id }: LogSynced) => {
      const pending = this.#pending.get(id)
      this.#pending.delete(id)
      if (this.#pending.size === 0) this.#worker.unref()
      if (code === undefined) pending?.resolve()
      else pending?.reject(Object.assign(new Error(`The sync of the log failed: ${code}`), { code }))
    })
    const end = (error: unknown) => {
      this.hasEnded = true
      for (const { reject } of this.#pending.values()) reject(error)
      this.#pending.clear()
    }
    this.#worker.on('error', end)
    this.#worker.on('exit', () => end(new Error('The thread that syncs the log has ended.')))
    this.#worker.unref()
  }

  sync(fd: number): Promise<void> {
    const pending = Promise.withResolvers<void>()
    // A process does not end while a commit waits for its sync.
    if (this.#pending.size === 0) this.#worker.ref()
    this.#pending.set(++this.#lastId, pending)
    this.#worker.postMessage({ id: this.#lastId, fd } satisfies LogToSync)
    return pending.promise
  }
}

let thread: SyncThread | undefined

/** Syncs the write-ahead log of a database without blocking the thread that serves. */
export class LogSync {
  /** Opened early: a descriptor opened after a failed write of the log would not report it. */
  readonly #fd: number
  #isClosed = false

  /** `file` exists as long as a connection to the database is open. */
  constructor(file: string) {
    this.#fd = openSync(file, 'r+')
  }

  /** Resolves when all that was written to the log is on the disk. Rejects if that is unknown. */
  async sync(): Promise<void> {
    if (!thread || thread.hasEnded) thread = new SyncThread()
    await thread.sync(this.#fd)
  }

  /** Idempotent. */
  close(): void {
    if (!this.#isClosed) closeSync(this.#fd)
    this.#isClosed = true
  }
}
