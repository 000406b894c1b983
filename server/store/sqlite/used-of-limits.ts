import type { Database, Statement } from 'better-sqlite3'
import { assert } from '../../kernel/assert.ts'
import type { EpochMs } from '../../kernel/clock.ts'
import type { AddedToWindow, KeyRateRow, Spent, WindowOf, WindowRow } from '../commands/limits/used-rows.ts'
import type { CounterChange } from '../commands/command.ts'
import { columns } from '../commands/statement.ts'
import type { Counters } from './counters.ts'
import { RowMemory } from './row-memory.ts'

type Window = WindowRow & { userId: string }
type Rate = KeyRateRow & { keyId: string }
type Waiting = { count: number }

/**
 * What is used of limits, of which each admission reads and changes some rows. They are in memory for as long as no other
 * connection has committed (`data_version`): the command line changes limits beside the server. Read and written by each
 * command, they took a tenth of its time.
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
  /** Counters write these. */
  readonly #waiting = new RowMemory<Waiting>(() => {})
  readonly #all = [this.#windows, this.#rates, this.#waiting]
  readonly #counters: Counters
  #version: unknown
  /** During a batch nobody else commits. */
  #isInBatch = false

  constructor(db: Database, counters: Counters) {
    this.#counters = counters
    this.#dataVersion = db.prepare('PRAGMA data_version').pluck()
    this.#getWindow = db.prepare(
      `SELECT ${columns('ownerId startsAt userId charged held reachedAt')}, spend_limit AS "limit" FROM spend_windows
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

  window({ ownerId, startsAt }: WindowOf): Window | undefined {
    const read = () => this.#getWindow.get(ownerId, startsAt)
    return this.#isInBatch ? this.#windows.find(ownerId, startsAt, read) : read()
  }

  named(countedIn: string): Window[] {
    const named = Object.entries(JSON.parse(countedIn) as Record<string, EpochMs>)
    return named.flatMap(([ownerId, startsAt]) => this.window({ ownerId, startsAt }) ?? [])
  }

  keyRate(keyId: string): Rate | undefined {
    const read = () => this.#getRate.get(keyId)
    return this.#isInBatch ? this.#rates.find(keyId, 0, read) : read()
  }

  /** How many tasks of a user wait. */
  waiting(userId: string): number {
    const read = () => ({ count: this.#counters.waiting(userId) })
    return this.#isInBatch ? this.#waiting.find(userId, 0, read)!.count : read().count
  }

  counted({ by, kind, status, userId }: CounterChange): void {
    const waiting = kind === 'task' && status === 'pending' ? this.#waiting.known(userId, 0) : undefined
    if (waiting) this.#waiting.change(waiting, { count: waiting.count + by })
  }

  add({ amount, charged, held, ownerId, startsAt, userId }: AddedToWindow): void {
    const window = this.window({ ownerId, startsAt })
    if (window) return this.#change(window, { charged, held }, amount)
    const added = { ownerId, startsAt, userId, limit: amount, charged, held, reachedAt: null }
    assertWithin(added)
    this.#windows.add(ownerId, startsAt, added)
  }

  change(countedIn: string, by: Spent): void {
    for (const window of this.named(countedIn)) this.#change(window, by, window.limit)
  }

  setKeyRate(keyId: string, { startsAt, used }: KeyRateRow): void {
    const rate = this.keyRate(keyId)
    if (rate) this.#rates.change(rate, { startsAt, used })
    else this.#rates.add(keyId, 0, { keyId, startsAt, used })
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

  /** A limit that was lowered below what is spent is kept as that. */
  #change(window: Window, by: Spent, amount: number): void {
    const charged = window.charged + by.charged
    const held = window.held + by.held
    const limit = amount === window.limit ? amount : Math.max(amount, charged + held)
    assertWithin({ charged, held, limit })
    this.#windows.change(window, { charged, held, limit })
  }

  #writeWindow({ charged, held, limit, ownerId, startsAt, userId }: Window): void {
    const { changes } = this.#changeWindow.run(charged, held, limit, ownerId, startsAt)
    if (changes === 0) this.#addWindow.run(charged, held, limit, ownerId, startsAt, userId)
  }
}

/** What the CHECK of the table says, which judges a row when it is written: then it is too late to undo one command. */
function assertWithin({ charged, held, limit }: Pick<Window, 'charged' | 'held' | 'limit'>): void {
  assert(charged >= 0 && held >= 0 && charged + held <= limit, 'what is spent in a window is within its limit')
}
