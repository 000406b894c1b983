import type { Database, Statement } from 'better-sqlite3'

const cachedMax = 50_000

/**
 * What credentials are checked against on every request, by the hash of their token. It holds while no other connection
 * has committed (`data_version`) and none of our own commands has changed a credential or its user (`clear`), so a
 * revocation acts on the next request wherever it was made. Requests that arrived together are one look: asking the
 * database takes a tenth of the time of a read, and whoever sent them had not heard of a later change.
 */
export class HolderCache<Holder> {
  readonly #dataVersion: Statement
  readonly #read: (tokenHash: string) => Holder | undefined
  readonly #cached = new Map<string, Holder>()
  #version: unknown
  /** Whether it was compared in this tick of the event loop. */
  #isCompared = false

  constructor(db: Database, read: (tokenHash: string) => Holder | undefined) {
    this.#dataVersion = db.prepare('PRAGMA data_version').pluck()
    this.#read = read
  }

  find(tokenHash: string): Holder | undefined {
    if (!this.#isCompared) this.#compare()
    const cached = this.#cached.get(tokenHash)
    if (cached) return cached
    const holder = this.#read(tokenHash)
    if (holder) this.#cached.set(tokenHash, holder)
    return holder
  }

  #compare(): void {
    const version = this.#dataVersion.get()
    if (version !== this.#version || this.#cached.size >= cachedMax) {
      this.#cached.clear()
      this.#version = version
    }
    this.#isCompared = true
    setImmediate(() => (this.#isCompared = false))
  }

  clear(): void {
    this.#cached.clear()
  }
}
