import { and, eq, sql } from './drizzle.ts'
import type { Connection } from './database.ts'
import { assert } from '../../kernel/assert.ts'
import type { CounterChange } from '../commands/command.ts'
import { counters } from './schema.ts'

/**
 * Gathers the changes of the counters over a batch of commands and writes each counter once, before the COMMIT: under
 * load hundreds of tasks of one user move together, and one row would be written hundreds of times.
 */
export class Counters {
  readonly #add
  readonly #subtract
  #ofCommand: CounterChange[] = []
  readonly #ofBatch = new Map<string, CounterChange>()

  constructor({ orm }: Connection) {
    this.#add = orm
      .insert(counters)
      .values({
        userId: sql.placeholder('userId'),
        kind: sql.placeholder('kind'),
        part: sql.placeholder('part'),
        status: sql.placeholder('status'),
        count: sql.placeholder('by'),
      })
      .onConflictDoUpdate({
        target: [counters.userId, counters.kind, counters.part, counters.status],
        set: { count: sql`${counters.count} + excluded.count` },
      })
      .prepare()
    // A CHECK judges the row of an upsert before its conflict is seen, so a decrease is a plain update.
    this.#subtract = orm
      .update(counters)
      .set({ count: sql`${counters.count} + ${sql.placeholder('by')}` })
      .where(
        and(
          eq(counters.userId, sql.placeholder('userId')),
          eq(counters.kind, sql.placeholder('kind')),
          eq(counters.part, sql.placeholder('part')),
          eq(counters.status, sql.placeholder('status')),
        ),
      )
      .prepare()
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
    }
    this.#ofCommand.length = 0
  }

  drop(): void {
    this.#ofCommand.length = 0
  }

  write(): void {
    for (const change of this.#ofBatch.values()) {
      if (change.by > 0) this.#add.run(change)
      else if (change.by < 0) assert(this.#subtract.run(change).changes === 1, 'a counter that falls exists')
    }
    this.#ofBatch.clear()
  }

  clear(): void {
    this.#ofCommand.length = 0
    this.#ofBatch.clear()
  }
}
