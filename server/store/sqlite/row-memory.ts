const knownMax = 50_000

/** What is known of a row; none is where the database has none. Those of one text are a list, mostly of one. */
export type Kept<Row> = {
  readonly number: number
  row: Row | undefined
  isUnwritten: boolean
  readonly next: Kept<Row> | undefined
}

type Change<Row> = { of: Kept<Row>; row: Row | undefined; isUnwritten: boolean }

/**
 * Rows that the commands of a batch read and replace, in memory: each is read once, and written once a batch, before its COMMIT.
 * What an undone command replaced is again as it was before:
 *
 *   known ──put──▶ unwritten ──the command ends well──▶ unwritten ──write──▶ known
 *     ▲                └──it is undone──▶ as before
 *     └── read from the database, where the batch was rolled back or somebody else may have written
 *
 * They are known by a text and a number. One text for both took half of the time that is saved, and so did a map for each text.
 */
export class RowMemory<Row> {
  readonly #write: (row: Row) => void
  #known = new Map<string, Kept<Row>>()
  #unwritten: Kept<Row>[] = []
  /** As it was before the changes of the running command. */
  readonly #undo: Change<Row>[] = []
  /** As it was when the running command wrote all rows, within its savepoint. */
  #before: { known: Map<string, Kept<Row>>; unwritten: Kept<Row>[]; changes: number } | undefined

  constructor(write: (row: Row) => void) {
    this.#write = write
  }

  /** What is known of a row, which is read where nothing is. */
  find(text: string, number: number, read: () => Row | undefined): Kept<Row> {
    const known = this.known(text, number)
    if (known) return known
    const kept = { number, row: read(), isUnwritten: false, next: this.#known.get(text) }
    this.#known.set(text, kept)
    return kept
  }

  known(text: string, number: number): Kept<Row> | undefined {
    let kept = this.#known.get(text)
    while (kept && kept.number !== number) kept = kept.next
    return kept
  }

  /** Replaces a row, or makes it. */
  put(of: Kept<Row>, row: Row): void {
    this.#undo.push({ of, row: of.row, isUnwritten: of.isUnwritten })
    of.row = row
    if (of.isUnwritten) return
    of.isUnwritten = true
    this.#unwritten.push(of)
  }

  /** Before a statement of a command that changes such rows itself: they are written, and read anew after it. */
  writeOut(): void {
    this.#before ??= {
      known: this.#known,
      unwritten: this.#unwritten.filter(({ isUnwritten }) => isUnwritten),
      changes: this.#undo.length,
    }
    this.write()
    this.#known = new Map()
  }

  keep(): void {
    this.#undo.length = 0
    this.#before = undefined
  }

  drop(): void {
    if (this.#before) {
      const { changes, known, unwritten } = this.#before
      this.#known = known
      this.#unwritten = unwritten
      for (const kept of unwritten) kept.isUnwritten = true
      this.#undo.length = changes
      this.#before = undefined
    }
    for (let change = this.#undo.pop(); change; change = this.#undo.pop()) {
      change.of.row = change.row
      change.of.isUnwritten = change.isUnwritten
    }
  }

  /** Before the COMMIT. */
  write(): void {
    const unwritten = this.#unwritten
    this.#unwritten = []
    for (const kept of unwritten) {
      // Of an undone command, or there twice.
      if (!kept.isUnwritten) continue
      kept.isUnwritten = false
      this.#write(kept.row!)
    }
  }

  /** Between batches, where nothing is unwritten. */
  trim(): void {
    if (this.#known.size > knownMax) this.#known.clear()
  }

  /** The batch was rolled back, or somebody else has written. */
  clear(): void {
    this.#known.clear()
    this.#unwritten = []
    this.#undo.length = 0
    this.#before = undefined
  }
}
