import { turnEventsBytesMax } from '../../store/turns/turn-records.ts'

/** Successive events, each a line of JSON. */
type Piece = { firstSeq: number; lastSeq: number; lines: string }

/** What a turn's memory may hold of its events, in characters. */
const ringCharsMax = 1_048_576
/** So much at least can be read again, whatever others take. */
const ringCharsMin = 65_536
/** Of one read, and about so much of a piece. */
const readCharsMax = 65_536

/** The latest events of a turn, in order and without gaps; the oldest give way. */
export class EventRing {
  readonly #onChars: (chars: number) => void
  #pieces: Piece[] = []
  #chars = 0
  /** The first event of what was said last. */
  #newestSeq = 1
  lastSeq = 0
  /** The last event that was written to the store, behind which none give way; undefined as long as none need be. */
  writtenSeq: number | undefined

  /** Told how much it grows, or shrinks. */
  constructor(onChars: (chars: number) => void) {
    this.#onChars = onChars
  }

  /** Of the oldest event that is there. */
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

  /** Some of the events behind `after`; undefined where there are none yet, `gone` where they are no more. */
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

  /** Makes room for others. */
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
      // What was said last stays, however large: whoever reads along is about to take it.
      if (firstSeq >= this.#newestSeq && !isCleared) break
      // Of what is not written yet, more gives way only while the store takes nothing for long.
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

/** What an agent says at once may be megabytes, of which each read would have all. */
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

/** The lines of a piece behind an event of it. */
export function linesAfter({ firstSeq, lines }: Piece, after: number): string {
  let start = 0
  for (let seq = firstSeq; seq <= after; seq++) start = lines.indexOf('\n', start) + 1
  return lines.slice(start)
}
