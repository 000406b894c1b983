import type { Database, Statement } from 'better-sqlite3'
import { assert } from '../../kernel/assert.ts'
import type { EpochMs } from '../../kernel/clock.ts'
import type { AddedToWindow, KeyRateRow, Spent, WindowOf, WindowRow } from '../limits/used-rows.ts'
import type { CounterChange } from '../commands/command.ts'
import { columns } from '../commands/statement.ts'
import type { Counters } from './counters.ts'
import { RowMemory, type Kept } from './row-memory.ts'

/** `charged` is the value of the column, without the carried amount. */
type Window = WindowRow & { userId: string; carried: number }
type Rate = KeyRateRow & { keyId: string }

/**
 * Caches limit usage, which every admission reads and changes. Rows stay in memory until another connection commits
 * (`data_version`), because the CLI can change limits while the server runs. Reading and writing the rows in each
 * command took a tenth of its time.
 */
export class UsedOfLimits {
  readonly #dataVersion: Statement
  readonly #getWindow: Statement<unknown[], Window>
  readonly #addWindow: Statement
  readonly #changeWindow: Statement
  readonly #getRate: Statement<unknown[], Rate>
  readonly #putRate: Statement
  readonly #windows = new RowMemory<Window>((window) => this.#writeWindow(window))
  readonly #rates = new RowMemory<Rate>(({ keyId, startsAt, used }) => void this.#putRate.run(keyId, startsAt, used))
  /** Number of queued tasks per user, which `Counters` writes to the database. */
  readonly #waiting = new RowMemory<number>(() => {})
  readonly #all = [this.#windows, this.#rates, this.#waiting]
  readonly #counters: Counters
  #version: unknown
  /** Set while no other connection can commit. */
  #isInBatch = false

  constructor(db: Database, counters: Counters) {
    this.#counters = counters
    this.#dataVersion = db.prepare('PRAGMA data_version').pluck()
    this.#getWindow = db.prepare(
      `SELECT ${columns('ownerId startsAt userId charged held carried reachedAt')}, spend_limit AS "limit" FROM spend_windows
        WHERE owner_id = ? AND starts_at = ?`,
    )
    this.#addWindow = db.prepare(
      'INSERT INTO spend_windows (charged, held, spend_limit, owner_id, starts_at, user_id) VALUES (?, ?, ?, ?, ?, ?)',
    )
    this.#changeWindow = db.prepare(
      'UPDATE spend_windows SET charged = ?, held = ?, spend_limit = ? WHERE owner_id = ? AND starts_at = ?',
    )
    this.#getRate = db.prepare(`SELECT ${columns('keyId startsAt used')} FROM key_rates WHERE key_id = ?`)
    this.#putRate = db.prepare(
      `INSERT INTO key_rates (key_id, starts_at, used) VALUES (?, ?, ?)
        ON CONFLICT (key_id) DO UPDATE SET starts_at = excluded.starts_at, used = excluded.used`,
    )
  }

  window(of: WindowOf): WindowRow | undefined {
    const row = this.#isInBatch ? this.#keptWindow(of).row : this.#readWindow(of)
    return row && (row.carried === 0 ? row : { ...row, charged: row.charged + row.carried })
  }

  named(countedIn: string): WindowRow[] {
    return windowsOf(countedIn).flatMap((of) => this.window(of) ?? [])
  }

  keyRate(keyId: string): Rate | undefined {
    return this.#isInBatch ? this.#keptRate(keyId).row : this.#getRate.get(keyId)
  }

  waiting(userId: string): number {
    const read = () => this.#counters.waiting(userId)
    return this.#isInBatch ? this.#waiting.find(userId, 0, read).row! : read()
  }

  counted({ by, kind, status, userId }: CounterChange): void {
    const waiting = kind === 'task' && status === 'pending' ? this.#waiting.known(userId, 0) : undefined
    if (waiting) this.#waiting.put(waiting, waiting.row! + by)
  }

  add({ amount, charged, held, ownerId, startsAt, userId }: AddedToWindow): void {
    const kept = this.#keptWindow({ ownerId, startsAt })
    if (kept.row) return this.#change(kept, kept.row, { charged, held, amount })
    assertWithin(charged, held, amount)
    this.#windows.put(kept, { ownerId, startsAt, userId, limit: amount, charged, held, carried: 0, reachedAt: null })
  }

  change(countedIn: string, { charged, held }: Spent): void {
    for (const of of windowsOf(countedIn)) {
      const kept = this.#keptWindow(of)
      if (kept.row) this.#change(kept, kept.row, { charged, held, amount: kept.row.limit })
    }
  }

  setKeyRate(keyId: string, { startsAt, used }: KeyRateRow): void {
    this.#rates.put(this.#keptRate(keyId), { keyId, startsAt, used })
  }

  writeOut(): void {
    this.#windows.writeOut()
    this.#rates.writeOut()
  }

  begin(): void {
    const version = this.#dataVersion.get()
    if (version !== this.#version) this.clear()
    this.#version = version
    for (const rows of this.#all) rows.trim()
    this.#isInBatch = true
  }

  keep(): void {
    for (const rows of this.#all) rows.keep()
  }

  drop(): void {
    for (const rows of this.#all) rows.drop()
  }

  write(): void {
    for (const rows of this.#all) rows.write()
  }

  committed(): void {
    this.#isInBatch = false
  }

  clear(): void {
    this.#isInBatch = false
    for (const rows of this.#all) rows.clear()
  }

  #readWindow({ ownerId, startsAt }: WindowOf): Window | undefined {
    return this.#getWindow.get(ownerId, startsAt)
  }

  #keptWindow(of: WindowOf): Kept<Window> {
    return this.#windows.find(of.ownerId, of.startsAt, () => this.#readWindow(of))
  }

  #keptRate(keyId: string): Kept<Rate> {
    return this.#rates.find(keyId, 0, () => this.#getRate.get(keyId))
  }

  /** Adds spend to a window. If the limit was lowered below the resulting usage, stores that usage as the limit. */
  #change(kept: Kept<Window>, window: Window, by: Spent & { amount: number }): void {
    const { carried, ownerId, reachedAt, startsAt, userId } = window
    const charged = window.charged + by.charged
    const held = window.held + by.held
    const limit = by.amount === window.limit ? by.amount : Math.max(by.amount, charged + held)
    assertWithin(charged, held, limit)
    this.#windows.put(kept, { ownerId, startsAt, userId, limit, charged, held, carried, reachedAt })
  }

  #writeWindow({ charged, held, limit, ownerId, startsAt, userId }: Window): void {
    const { changes } = this.#changeWindow.run(charged, held, limit, ownerId, startsAt)
    if (changes === 0) this.#addWindow.run(charged, held, limit, ownerId, startsAt, userId)
  }
}

function windowsOf(countedIn: string): WindowOf[] {
  const startsOf = JSON.parse(countedIn) as Record<string, EpochMs>
  return Object.entries(startsOf).map(([ownerId, startsAt]) => ({ ownerId, startsAt }))
}

/**
 * Asserts the table's CHECK condition early. SQLite evaluates it only when the row is written, which is too late to
 * undo a single command.
 */
function assertWithin(charged: number, held: number, limit: number): void {
  assert(charged >= 0 && held >= 0 && charged + held <= limit, 'the usage of a window is within its limit')
}
