import Database from 'better-sqlite3'
import type { BatchEnd } from '../../server/store/sqlite/group-commit.ts'

/** Counts the rows that commands write and stores the total at the end of each batch, as the store's counters do. */
export class Tally implements BatchEnd {
  /** Number of completed batches. */
  writes = 0
  /** If set, `write` throws this error. */
  fails: Error | undefined
  #ofCommand = 0
  #ofBatch = 0
  readonly #add: Database.Statement

  constructor(db: Database.Database) {
    this.#add = db.prepare('UPDATE tally SET value = value + ?')
  }

  begin(): void {}

  count(rows: number): void {
    this.#ofCommand += rows
  }

  keep(): void {
    this.#ofBatch += this.#ofCommand
    this.#ofCommand = 0
  }

  drop(): void {
    this.#ofCommand = 0
  }

  committed(): void {}

  write(): void {
    if (this.fails) throw this.fails
    this.writes++
    this.#add.run(this.#ofBatch)
    this.#ofBatch = 0
  }

  clear(): void {
    this.#ofCommand = 0
    this.#ofBatch = 0
  }
}

export type Notes = {
  db: Database.Database
  tally: Tally
  /** Inserts a row and returns its id. */
  write: (text: string) => number
  writeMany: (text: string, rows: number) => void
}

/**
 * Creates a minimal database for testing group commits: rows to write, their total, and the row that a probe changes.
 */
export function createNotes(file: string): Notes {
  const db = new Database(file, { timeout: 2 })
  db.pragma('journal_mode = WAL')
  db.exec(`CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL, UNIQUE (id, text)) STRICT;
           CREATE TABLE tally (value INTEGER NOT NULL) STRICT;
           CREATE TABLE probes (id INTEGER PRIMARY KEY, value INTEGER NOT NULL) STRICT;
           INSERT INTO tally VALUES (0);
           INSERT INTO probes VALUES (1, 0)`)
  const tally = new Tally(db)
  const insert = db.prepare('INSERT INTO notes (text) VALUES (?)')
  const insertMany = db.prepare(
    'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) INSERT INTO notes (text) SELECT ? FROM n',
  )
  return {
    db,
    tally,
    write: (text) => {
      tally.count(1)
      return Number(insert.run(text).lastInsertRowid)
    },
    writeMany: (text, rows) => {
      tally.count(rows)
      insertMany.run(rows, text)
    },
  }
}
