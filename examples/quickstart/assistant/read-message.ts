import { detectDelimiter } from '../detect-delimiter.ts'
import type { Pace } from '../pace-work.ts'
import { findTables } from './find-tables.ts'
import { readTextQuestion } from './read-text-question.ts'
import { readSentences } from './text-tools.ts'

export type PastedTable = { readonly csv: string; readonly delimiter: string }

/** What a message holds: what was pasted into it, and what it asks. */
export type MessageParts = {
  readonly tables: readonly PastedTable[]
  readonly texts: readonly string[]
  /** Empty when the message only hands something over. */
  readonly question: string
}

/** A text is three sentences and, unless none of them asks anything, at least this many words. */
const textSentencesMin = 3
const textWordsMin = 30
const instructionLengthMax = 300
/** Whatever is longer is no question. */
const questionLengthMax = 2000

/**
 * Takes a message apart. Fenced blocks are pasted, and so are lines that form a table. Of the rest, three sentences or
 * more are a pasted text, whose first or last line or sentence may be the question; anything shorter is the question.
 */
export async function readMessage(message: string, pace: Pace): Promise<MessageParts> {
  const { fences, rest } = readFences(message.split(/\r\n|\n|\r/))
  const tables: PastedTable[] = []
  const texts: string[] = []
  for (const { language, lines } of fences) {
    const csv = lines.join('\n')
    const isTable = /^[ct]sv$/i.test(language)
    const found = isTable ? [{ csv, delimiter: detectDelimiter(csv) }] : await findTables(lines, pace)
    if (found.length > 0) tables.push(...found)
    else if (/[\p{L}\p{N}]/u.test(csv)) texts.push(csv)
  }
  const found = await findTables(rest, pace)
  tables.push(...found)
  let at = 0
  const others: string[] = []
  for (const { start, end } of found) {
    others.push(...rest.slice(at, start), '')
    at = end
  }
  const words = [...others, ...rest.slice(at)].join('\n').trim()
  const { text, question } = splitInstruction(words)
  if (text !== '') texts.push(text)
  return { tables, texts, question }
}

type Fence = { readonly language: string; readonly lines: readonly string[] }

/** Blocks between lines of ``` or ~~~; one that is not closed goes on to the end. */
function readFences(lines: readonly string[]): { fences: Fence[]; rest: string[] } {
  const fences: Fence[] = []
  const rest: string[] = []
  for (let at = 0; at < lines.length; at += 1) {
    const opening = /^\s*(```|~~~)\s*(\w*)\s*$/.exec(lines[at]!)
    if (opening === null) {
      rest.push(lines[at]!)
      continue
    }
    let end = at + 1
    while (end < lines.length && lines[end]!.trim() !== opening[1]) end += 1
    fences.push({ language: opening[2] ?? '', lines: lines.slice(at + 1, end) })
    rest.push('')
    at = end
  }
  return { fences, rest }
}

function splitInstruction(words: string): { text: string; question: string } {
  const leading =
    /^[^\n:]{3,300}:(?=\s)/.exec(words)?.[0] ??
    /^[^\n]{3,300}(?=\n)/.exec(words)?.[0] ??
    /^[^\n.!?]{3,300}[.!?](?=\s)/.exec(words)?.[0]
  const first = /^[^\n.!?]{3,300}[.!?](?=\s)/.exec(words)?.[0]
  for (const candidate of [leading, first]) {
    if (candidate === undefined || !isInstruction(candidate)) continue
    const text = words.slice(candidate.length).trim()
    // "Summarize this. Thanks!" holds no text.
    if (text.split(/\s+/).length >= 4) return { text, question: candidate.trim() }
  }
  if (!isText(words)) return { text: '', question: words }
  const tail = words.slice(-instructionLengthMax)
  for (const pattern of [/(?:\n|^)([^\n]+)$/, /[.!?…"”’)]\s+([^.!?…\n]+[.!?]*)$/]) {
    const candidate = pattern.exec(tail)?.[1]
    if (candidate !== undefined && candidate.length < words.length && isInstruction(candidate)) {
      return { text: words.slice(0, -candidate.length).trim(), question: candidate }
    }
  }
  return { text: words, question: '' }
}

const opening =
  /^(?:please|can|could|would|now|summar|sum|tl|key|give|show|tell|find|list|get|write|make|create|extract|what|which|how|where|count|shorten|condense|briefly|name|describe|does|is|search|in|i)\b|^summar/i

function isInstruction(candidate: string): boolean {
  return (
    candidate.length <= instructionLengthMax &&
    opening.test(candidate.trim()) &&
    readTextQuestion(candidate) !== undefined
  )
}

function isText(words: string): boolean {
  if (words.length > questionLengthMax) return true
  let [sentences, count, asks] = [0, 0, false]
  for (const sentence of readSentences(words)) {
    sentences += 1
    count += sentence.words
    asks ||= sentence.text.endsWith('?')
    if (sentences >= textSentencesMin && count >= textWordsMin) return true
  }
  return sentences >= textSentencesMin && !asks
}
