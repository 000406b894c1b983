import { turnEventsBytesMax } from '../../store/sessions/turn-types.ts'

type Piece = { firstSeq: number; lastSeq: number; lines: string }

const ringCharsMax = 1_048_576
/** Each turn keeps at least this many characters of its latest events in memory, even if other turns need the space. */
const ringCharsMin = 65_536
/** Maximum number of characters that one read returns, and the approximate size of a piece. */
const readCharsMax = 65_536

/** The latest events of a turn, in order and without gaps. Drops the oldest ones. */
export class EventRing {
  readonly #onChars: (chars: number) => void
  #pieces: Piece[] = []
  #chars = 0
  /** Sequence number of the first event in the last append. */
  #newestSeq = 1
  lastSeq = 0
  /**
   * Sequence number of the last event that was written to the store. Later events are dropped only above
   * `turnEventsBytesMax`. Undefined while no event needs to be stored.
   */
  writtenSeq: number | undefined

  constructor(onChars: (chars: number) => void) {
    this.#onChars = onChars
  }

  get firstSeq(): number {
    return this.#pieces[0]?.firstSeq ?? this.lastSeq + 1
  }

  get chars(): number {
    return this.#chars
  }

  append(lines: string, lastSeq: number): void {
    this.#newestSeq = this.lastSeq + 1
    for (const piece of inPieces({ firstSeq: this.#newestSeq, lastSeq, lines })) this.#pieces.push(piece)
    this.lastSeq = lastSeq
    this.#grow(lines.length)
    if (this.#chars > ringCharsMax) this.#dropTo(ringCharsMax)
  }

  /** Returns the events after `after`. Returns undefined if there are none yet, and `gone` if they were dropped. */
  read(after: number): Piece | 'gone' | undefined {
    if (after >= this.lastSeq) return undefined
    let at = this.#pieces.length - 1
    while (at >= 0 && this.#pieces[at]!.firstSeq > after + 1) at--
    const first = this.#pieces[at]
    if (!first) return 'gone'
    const lines = first.firstSeq === after + 1 ? first.lines : linesAfter(first, after)
    const taken: Piece = { firstSeq: after + 1, lastSeq: first.lastSeq, lines }
    for (let piece = this.#pieces[++at]; piece; piece = this.#pieces[++at]) {
      if (taken.lines.length + piece.lines.length > readCharsMax) break
      taken.lines += piece.lines
      taken.lastSeq = piece.lastSeq
    }
    return taken
  }

  shrink(): void {
    this.#dropTo(ringCharsMin)
  }

  clear(): void {
    this.#dropTo(-1)
  }

  #dropTo(chars: number): void {
    let dropped = 0
    let left = this.#chars
    const isCleared = chars < 0
    while (left > chars && dropped < this.#pieces.length) {
      const { firstSeq, lastSeq, lines } = this.#pieces[dropped]!
      // Keep the last append, however large, because a reader is about to take it.
      if (firstSeq >= this.#newestSeq && !isCleared) break
      // Unsaved events are dropped only above `turnEventsBytesMax`, after the store has rejected writes for a long
      // time.
      const isToWrite = this.writtenSeq !== undefined && lastSeq > this.writtenSeq
      if (isToWrite && !isCleared && left <= turnEventsBytesMax) break
      left -= lines.length
      dropped++
    }
    this.#pieces.splice(0, dropped)
    this.#grow(left - this.#chars)
  }

  #grow(chars: number): void {
    this.#chars += chars
    this.#onChars(chars)
  }
}

/** Splits a batch into pieces. A batch can contain megabytes, and a read returns only whole pieces. */
function* inPieces({ firstSeq, lastSeq, lines }: Piece): Generator<Piece, void> {
  let [from, first, end] = [0, firstSeq, 0]
  for (let seq = firstSeq; lines.length - from > readCharsMax && seq <= lastSeq; seq++) {
    const next = lines.indexOf('\n', end) + 1
    if (next - from > readCharsMax && end > from) {
      yield { firstSeq: first, lastSeq: seq - 1, lines: lines.slice(from, end) }
      from = end
      first = seq
    }
    end = next
  }
  yield { firstSeq: first, lastSeq, lines: from === 0 ? lines : lines.slice(from) }
}

export function linesAfter({ firstSeq, lines }: Piece, after: number): string {
  let start = 0
  for (let seq = firstSeq; seq <= after; seq++) start = lines.indexOf('\n', start) + 1
  return lines.slice(start)
}
