import type { Block } from './read-blocks.ts'

/** Abbreviations before a name or an example: no sentence ends there. Lower case, without the last full stop. */
const beforeName = new Set(
  (
    'adm approx bzw ca capt cf cmdr col d.h dr e.g fr ft gen gov hon hr i.e lt maj messrs mlle mme mr mrs ms mt prof ' +
    'rep rev sen sgt sra srta st u.a viz vs z.b'
  ).split(' '),
)

/** Abbreviations before a figure: a sentence may end there otherwise ("I said no."). */
const beforeNumber = new Set(
  'abs apr art aug bd ch dec eq feb fig figs jan jul jun mar no nos nov nr oct p pp sec sep sept vol vols par'.split(
    ' ',
  ),
)

/** Abbreviations that close a sentence as often as not; the next word decides. */
const beforeAny = new Set('a.m al bros co corp dept est etc inc jr ltd p.m sr usw'.split(' '))

/** Languages that write ordinal numbers with a full stop, as in "3. Oktober". */
const ordinalStop = new Set('cs da de et fi hr hu lv nb pl sk sl tr'.split(' '))

/**
 * Text without ends of sentences, such as a transcript or a table, is cut here, so that one sentence is never the whole
 * text. Melville's longest are below it.
 */
export const sentenceLengthMax = 2000

const segmenter = new Intl.Segmenter('en', { granularity: 'sentence' })
const tailLength = 24

export type SplitOptions = { readonly language: string; readonly stopWords: ReadonlySet<string> }

/**
 * The sentences of a block in order, each a verbatim part of it. Unicode's rules find the ends in any script; ends that
 * stand after an abbreviation, an initial, a lone number, or before a lower-case letter are undone.
 */
export function* splitSentences({ text }: Pick<Block, 'text'>, options: SplitOptions): Generator<string> {
  let start = 0
  for (const { index } of segmenter.segment(text)) {
    const isEnd = index - start > sentenceLengthMax || endsSentence({ text, start, end: index }, options)
    if (index === 0 || !isEnd) continue
    yield* cutLong(text.slice(start, index).trim())
    start = index
  }
  const last = text.slice(start).trim()
  if (last !== '') yield* cutLong(last)
}

function endsSentence(
  { text, start, end }: { text: string; start: number; end: number },
  { language, stopWords }: SplitOptions,
): boolean {
  const tail = text.slice(Math.max(start, end - tailLength), end).trimEnd()
  const next = /^["'“‘«([]*([\p{L}\p{M}'’]+|\p{N}+)?/u.exec(text.slice(end, end + tailLength))?.[1] ?? ''
  if (/^\p{Ll}/u.test(next)) return false
  // A number or sign alone belongs to what follows: "1. The first point."
  if (end - start <= tailLength && !/\p{L}/u.test(tail)) return false
  if (!tail.endsWith('.') || tail.endsWith('..')) return true
  const token = (/(?:^|[\s("'“‘«[])([^\s("'“‘«[]+)\.$/u.exec(tail)?.[1] ?? '').toLowerCase()
  if (beforeName.has(token)) return false
  if (beforeNumber.has(token)) return !/^\p{N}/u.test(next)
  const isOpen =
    beforeAny.has(token) || /^\p{L}(?:\.\p{L})*$/u.test(token) || (ordinalStop.has(language) && /^\d{1,2}$/.test(token))
  // One initial after another: "J. R. R. Tolkien".
  if (/^\p{L}$/u.test(token) && /^\p{L}\./u.test(text.slice(end, end + 2))) return false
  // After these a sentence begins with a word that sentences begin with: "in the U.S. He", but "the U.S. Army".
  return !isOpen || next === '' || stopWords.has(next.slice(0, 1).toLowerCase() + next.slice(1))
}

/** Cuts text at the last clause, else the last space, before the limit. */
function* cutLong(text: string): Generator<string> {
  let rest = text
  while (rest.length > sentenceLengthMax) {
    const head = rest.slice(0, sentenceLengthMax)
    const clause = /^.*[;:,—]\s/su.exec(head)?.[0].length ?? 0
    const space = head.lastIndexOf(' ') + 1
    const isHighSurrogate = /[\ud800-\udbff]$/.test(head)
    const cut =
      clause > sentenceLengthMax / 2 ? clause : space > 0 ? space : isHighSurrogate ? head.length - 1 : head.length
    yield rest.slice(0, cut).trim()
    rest = rest.slice(cut)
  }
  if (rest.trim() !== '') yield rest.trim()
}
