import { statSync } from 'node:fs'
import type { StoreState } from '../store.ts'
import { eq, isNull, sql } from './drizzle.ts'
import type { Connection } from './database.ts'
import type { Ledger } from './ledger.ts'
import { tasks, turns } from './schema.ts'
import type { UserRows } from './user-rows.ts'

/** What the operator sees of the store at a glance: indexes of what is open, and the sizes of files. */
export class StateQuery {
  readonly #statements
  readonly #users: UserRows
  readonly #file: string
  readonly #ledger: Ledger

  constructor({ orm }: Connection, parts: { users: UserRows; file: string; ledger: Ledger }) {
    const total = sql<number>`count(*)`
    this.#users = parts.users
    this.#file = parts.file
    this.#ledger = parts.ledger
    this.#statements = {
      open: orm
        .select({ pending: sql<number>`count(*) FILTER (WHERE ${eq(tasks.status, 'pending')})`, all: total })
        .from(tasks)
        .where(isNull(tasks.completedAt))
        .prepare(),
      turns: orm.select({ total }).from(turns).where(isNull(turns.settledAt)).prepare(),
    }
  }

  read(): Omit<StoreState, 'isWritable'> {
    const open = this.#statements.open.get()!
    const { suspended, users } = this.#users.counts()
    return {
      pendingTasks: open.pending,
      processingTasks: open.all - open.pending,
      openTurns: this.#statements.turns.get()!.total,
      users,
      suspendedUsers: suspended,
      databaseBytes: sizeOf(this.#file),
      walBytes: sizeOf(`${this.#file}-wal`),
      posted: this.#ledger.posted,
    }
  }
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0
}
