import type { Database, Statement } from 'better-sqlite3'
import { assert } from '../../kernel/assert.ts'
import type { CounterChange } from '../commands/command.ts'
import { insertInto } from '../commands/statement.ts'

/**
 * Collects the counter changes of a batch of commands, and writes each counter once before the COMMIT. Under load, a
 * batch changes hundreds of tasks of one user, and would otherwise write the same row hundreds of times.
 */
export class Counters {
  readonly #add: Statement
  readonly #subtract: Statement
  readonly #waiting: Statement<unknown[], number>
  readonly #waitingBy = new Map<string, number>()
  #ofCommand: CounterChange[] = []
  readonly #ofBatch = new Map<string, CounterChange>()

  constructor(db: Database) {
    this.#add = db.prepare(`${insertInto('counters', 'userId kind part status count')}
      ON CONFLICT (user_id, kind, part, status) DO UPDATE SET count = counters.count + excluded.count`)
    // Decreases use a plain UPDATE, because SQLite applies CHECKs to the row of an upsert before it detects the
    // conflict.
    this.#subtract = db.prepare(`UPDATE counters SET count = count + :count
      WHERE user_id = :userId AND kind = :kind AND part = :part AND status = :status`)
    this.#waiting = db
      .prepare<unknown[], number>(
        `SELECT coalesce(sum(count), 0) FROM counters
          WHERE user_id = :userId AND kind = 'task' AND status = 'pending'`,
      )
      .pluck()
  }

  /** Returns the number of the user's queued tasks, including changes by completed commands of the batch. */
  waiting(userId: string): number {
    return this.#waiting.get({ userId })! + (this.#waitingBy.get(userId) ?? 0)
  }

  count(change: CounterChange): void {
    this.#ofCommand.push({ ...change })
  }

  keep(): void {
    for (const change of this.#ofCommand) {
      const key = `${change.userId} ${change.kind} ${change.part} ${change.status}`
      const known = this.#ofBatch.get(key)
      if (known) known.by += change.by
      else this.#ofBatch.set(key, change)
      if (change.kind === 'task' && change.status === 'pending') {
        this.#waitingBy.set(change.userId, (this.#waitingBy.get(change.userId) ?? 0) + change.by)
      }
    }
    this.#ofCommand.length = 0
  }

  drop(): void {
    this.#ofCommand.length = 0
  }

  write(): void {
    for (const { by: count, ...counter } of this.#ofBatch.values()) {
      if (count > 0) this.#add.run({ ...counter, count })
      else if (count < 0)
        assert(this.#subtract.run({ ...counter, count }).changes === 1, 'a decremented counter exists')
    }
    this.#ofBatch.clear()
    this.#waitingBy.clear()
  }

  clear(): void {
    this.#ofCommand.length = 0
    this.#ofBatch.clear()
    this.#waitingBy.clear()
  }
}
