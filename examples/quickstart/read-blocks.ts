/** A heading, a list item or a paragraph, on one line. */
export type Block = { readonly text: string; readonly isHeading: boolean }

/** A heading is short and is not closed like a sentence. */
const headingLengthMax = 100
const sentenceEnd = /[.!?…:;,。！？；，、।؟۔]["'”’»)\]]*$/u
/** Longer paragraphs, as of a text without empty lines, are handed on in parts that end with a sentence if they can. */
const paragraphLinesMax = 500
const chapter = /^(?:CHAPTER|Chapter|PART|Part|BOOK|Book|SECTION|Section|ACT|Act)\s+(?:\d+|[IVXLC]+)(?:[.:—–-]|$)/
const listMarker = /^(?:[-*+•‣–—]|\d{1,3}[.)]|\(?[a-z]\))\s+/
const unspaced = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\u3000-\u303f\uff00-\uffef]/u

/** The blocks of a plain or Markdown text in order: lines that were wrapped are joined, white space is collapsed. */
export function* readBlocks(text: string): Generator<Block> {
  for (const lines of readParagraphs(text)) yield* readParagraphBlocks(lines)
}

/** Joins pieces of text with spaces, or without between characters of scripts that use none. */
export function joinText(pieces: readonly string[]): string {
  const touch = (left: string, right: string) => unspaced.test(left.slice(-1)) && unspaced.test(right.slice(0, 1))
  return pieces.map((piece, at) => (at === 0 || touch(pieces[at - 1] ?? '', piece) ? piece : ` ${piece}`)).join('')
}

/** Runs of lines that hold words. Empty lines and rules such as "-----" separate them. */
function* readParagraphs(text: string): Generator<string[]> {
  let lines: string[] = []
  for (const line of readLines(text)) {
    if (/[\p{L}\p{N}]/u.test(line)) {
      // Control characters separate words as white space does.
      lines.push(line.replace(/[\s\p{Cc}]+/gu, ' ').trim())
      const isLong = lines.length >= paragraphLinesMax
      if (!isLong || (lines.length < 10 * paragraphLinesMax && !sentenceEnd.test(line.slice(-10)))) continue
    }
    if (lines.length > 0) yield lines
    lines = []
  }
  if (lines.length > 0) yield lines
}

function* readLines(text: string): Generator<string> {
  let start = 0
  for (const { 0: end, index } of text.matchAll(/\r\n?|[\n\f\u0085\u2028\u2029]/g)) {
    yield text.slice(start, index)
    start = index + end.length
  }
  yield text.slice(start)
}

function* readParagraphBlocks(lines: readonly string[]): Generator<Block> {
  const width = lines.reduce((longest, line) => Math.max(longest, line.length), 0)
  let block: string[] = []
  for (const [position, line] of lines.entries()) {
    block.push(line.replace(listMarker, ''))
    const next = lines[position + 1]
    if (next !== undefined && isWrapped({ line, next, width })) continue
    const isHeading = block.length === 1 && isHeadingLine(line)
    yield { text: joinText(block).replace(/^#+ /, ''), isHeading }
    block = []
  }
}

/** Whether `next` goes on with the sentence of `line`: it does when its first word would not have fitted any more. */
function isWrapped({ line, next, width }: { line: string; next: string; width: number }): boolean {
  if (listMarker.test(next) || isMarkedHeading(next) || isMarkedHeading(line)) return false
  if (/^\p{Ll}/u.test(next) || /[,;–—-]$/u.test(line)) return true
  const wordLength = next.indexOf(' ') < 0 ? next.length : next.indexOf(' ')
  return line.length + 1 + Math.min(wordLength, width / 4) > width * 0.75
}

function isMarkedHeading(line: string): boolean {
  return line.length <= headingLengthMax && (/^#+ /.test(line) || chapter.test(line))
}

function isHeadingLine(line: string): boolean {
  if (isMarkedHeading(line)) return true
  return line.length <= headingLengthMax && !sentenceEnd.test(line) && !listMarker.test(line)
}
