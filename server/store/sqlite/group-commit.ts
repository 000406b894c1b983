import type { Database, Statement } from 'better-sqlite3'
import { ErrandError } from '../../kernel/errors.ts'
import { codeOf } from '../../kernel/thrown.ts'
import type { Committed } from '../committed.ts'

// Group commit. Commands that arrive in the same event-loop tick share one transaction and one disk sync:
//
//   idle ──enqueue──▶ scheduled ──setImmediate──▶ committing ──┬─▶ idle
//                         ▲                                    │ another process holds the write lock:
//                         └────────────────────────────────────┘ retry after a pause; or commands are left
//                                                                for the next tick
//
// Each command has a savepoint, so a command that throws does not affect the others. No result is returned before the
// COMMIT, because even a rejection may depend on a row from the same batch. One transaction per command had a quarter
// of the throughput with the same durability.

export type GroupCommitOptions = {
  /** Pause between attempts while another process, such as a CLI command, holds the write lock. */
  busyPauseMs?: number
  /** Maximum time that a command waits before it fails with SERVICE_UNAVAILABLE. */
  busyMsMax?: number
  /**
   * Called once if it is unknown which commits are on disk. The process must then exit. The recovery at the next start
   * decides which commits exist.
   */
  onFatal: (cause: unknown) => void
  onCommit?: (commit: Committed) => void
}

/**
 * Once a transaction has run for this long and executed this many commands, the next transaction runs the rest. A
 * thousand commands in one tick would block the event loop.
 */
const enoughMs = 20
const enoughCommands = 32

type Entry = { run: () => unknown; resolve: (value: unknown) => void; reject: (reason: unknown) => void }
type Outcome = { entry: Entry; value?: unknown; thrown?: unknown; failed: boolean }

/** Collects the changes of a batch's commands and writes them once, before the COMMIT. */
export type BatchEnd = {
  /** Called after BEGIN. From then until the COMMIT, no other process can write. */
  begin(): void
  keep(): void
  drop(): void
  write(): void
  committed(): void
  /** Discards all changes after the batch was rolled back. */
  clear(): void
}

export class GroupCommit {
  readonly #db: Database
  readonly #options: Required<Omit<GroupCommitOptions, 'onCommit'>> & Pick<GroupCommitOptions, 'onCommit'>
  readonly #batchEnd: BatchEnd
  readonly #statements: Record<'begin' | 'save' | 'release' | 'undo' | 'commit' | 'rollback' | 'probe', Statement>
  #queue: Entry[] = []
  #isScheduled = false
  #busySince: number | undefined
  #fatal: unknown
  #isFailing = false
  #startedAt = 0

  constructor(db: Database, batchEnd: BatchEnd, options: GroupCommitOptions) {
    this.#db = db
    this.#batchEnd = batchEnd
    this.#options = { busyPauseMs: 5, busyMsMax: 5000, ...options }
    this.#statements = {
      begin: db.prepare('BEGIN IMMEDIATE'),
      save: db.prepare('SAVEPOINT command'),
      release: db.prepare('RELEASE command'),
      undo: db.prepare('ROLLBACK TO command'),
      commit: db.prepare('COMMIT'),
      rollback: db.prepare('ROLLBACK'),
      probe: db.prepare('UPDATE probes SET value = value + 1 WHERE id = 1'),
    }
  }

  /** Runs a synchronous command in the next transaction. Resolves with the result when it is durable. */
  run<Result>(command: () => Result): Promise<Result> {
    return new Promise<Result>((resolve, reject) => {
      if (this.#fatal !== undefined)
        return reject(unavailable('The service is stopping, so nothing was changed. Try again.', this.#fatal))
      this.#queue.push({ run: command, resolve: resolve as (value: unknown) => void, reject })
      if (this.#isScheduled) return
      this.#isScheduled = true
      setImmediate(this.#commitQueue)
    })
  }

  get isFailing(): boolean {
    return this.#isFailing
  }

  /** Whether writes succeed. After a failed write, makes a test write, because there may be no other writes. */
  async canWrite(): Promise<boolean> {
    if (!this.#isFailing) return true
    return await this.run(() => void this.#statements.probe.run()).then(
      () => true,
      () => false,
    )
  }

  async settled(): Promise<void> {
    while (this.#queue.length > 0 || this.#isScheduled) await new Promise((resolve) => setTimeout(resolve, 1))
  }

  readonly #commitQueue = (): void => {
    if (this.#fatal !== undefined) return
    this.#startedAt = performance.now()
    try {
      this.#statements.begin.run()
    } catch (error) {
      return this.#beginFailed(error)
    }
    this.#busySince = undefined
    const batch = this.#queue
    this.#queue = []
    this.#isScheduled = false
    const outcomes: Outcome[] = []
    const from = performance.now()
    try {
      this.#batchEnd.begin()
      for (const [index, entry] of batch.entries()) {
        if (index >= enoughCommands && performance.now() - from > enoughMs) {
          this.#leave(batch.splice(index))
          break
        }
        outcomes.push(this.#runOne(entry))
      }
      this.#batchEnd.write()
    } catch (error) {
      // SQLite has rolled back the whole transaction, for example because the disk is full. That also undid the earlier
      // commands of the batch, so the later ones must not be committed without them.
      return this.#batchFailed(batch, error)
    }
    const syncsAt = performance.now()
    try {
      this.#statements.commit.run()
    } catch (error) {
      return this.#commitFailed(batch, error)
    }
    this.#batchEnd.committed()
    const syncMs = performance.now() - syncsAt
    for (const { entry, failed, thrown, value } of outcomes) {
      if (failed) entry.reject(thrown)
      else entry.resolve(value)
    }
    this.#tried({ commands: batch.length, isDurable: true, syncMs })
  }

  #leave(entries: readonly Entry[]): void {
    this.#queue.unshift(...entries)
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(this.#commitQueue)
  }

  #tried(tried: Omit<Committed, 'startedAt'>): void {
    this.#isFailing = !tried.isDurable
    this.#options.onCommit?.({ ...tried, startedAt: this.#startedAt })
  }

  /** Runs a command in its savepoint. Throws only if the whole transaction is lost or the disk fails. */
  #runOne(entry: Entry): Outcome {
    const { save, release, undo } = this.#statements
    save.run()
    try {
      const value = entry.run()
      release.run()
      this.#batchEnd.keep()
      return { entry, value, failed: false }
    } catch (thrown) {
      this.#batchEnd.drop()
      if (!this.#db.inTransaction || isDiskError(thrown)) throw thrown
      undo.run()
      release.run()
      return { entry, thrown, failed: true }
    }
  }

  #batchFailed(batch: readonly Entry[], error: unknown): void {
    this.#batchEnd.clear()
    this.#tried({ commands: batch.length, isDurable: false, syncMs: 0 })
    try {
      if (this.#db.inTransaction) this.#statements.rollback.run()
    } catch (rollbackError) {
      return this.#stopForGood(batch, rollbackError)
    }
    rejectAll(batch, unavailable('Could not write to the database, so nothing was changed. Try again.', error))
  }

  #stopForGood(batch: readonly Entry[], cause: unknown): void {
    this.#fatal = cause
    const waiting = this.#queue
    this.#queue = []
    this.#isScheduled = false
    const message = 'The database failed during a write. Retry with the same Idempotency-Key.'
    rejectAll([...batch, ...waiting], unavailable(message, cause))
    this.#options.onFatal(cause)
  }

  #beginFailed(error: unknown): void {
    const now = performance.now()
    this.#busySince ??= now
    const isBusy = codeOf(error).startsWith('SQLITE_BUSY')
    if (isBusy && now - this.#busySince < this.#options.busyMsMax) {
      setTimeout(this.#commitQueue, this.#options.busyPauseMs)
      return
    }
    const batch = this.#queue
    this.#queue = []
    this.#isScheduled = false
    this.#busySince = undefined
    this.#tried({ commands: batch.length, isDurable: false, syncMs: 0 })
    rejectAll(batch, unavailable('Could not write to the database, so nothing was changed. Try again.', error))
  }

  /**
   * Handles a failed COMMIT. If the disk is full, the commit record was not written. Otherwise the outcome is
   * unknown: the rows are not visible now, but could reappear after a crash. Another commit must therefore overwrite
   * the end of the log before any command is answered. If that commit fails too, the process exits.
   */
  #commitFailed(batch: Entry[], error: unknown): void {
    this.#batchEnd.clear()
    this.#tried({ commands: batch.length, isDurable: false, syncMs: 0 })
    try {
      if (this.#db.inTransaction) this.#statements.rollback.run()
      if (codeOf(error) !== 'SQLITE_FULL') {
        this.#statements.begin.run()
        this.#statements.probe.run()
        this.#statements.commit.run()
      }
    } catch (probeError) {
      return this.#stopForGood(batch, probeError)
    }
    rejectAll(batch, unavailable('Could not write to the database. Retry with the same Idempotency-Key.', error))
  }
}

function isDiskError(error: unknown): boolean {
  return /^SQLITE_(FULL|IOERR|CORRUPT|NOTADB|READONLY|NOMEM)/.test(codeOf(error))
}

function unavailable(message: string, cause: unknown): ErrandError {
  return new ErrandError('SERVICE_UNAVAILABLE', message, { retryAfterSeconds: 1, cause })
}

function rejectAll(entries: readonly Entry[], error: ErrandError): void {
  for (const entry of entries) entry.reject(error)
}
