/** A part of a Markdown text that can be rendered independently. */
export type MarkdownBlock =
  | { kind: 'markdown' | 'plain'; text: string }
  | { kind: 'code'; text: string; language: string }

/** Parsing time grows faster than linearly, so longer blocks are shown as plain text. */
const parsedCharsMax = 20_000
/** Rendering has a fixed cost per block, so short blocks are merged. */
const blockCharsMin = 1500
const fencePattern = /^(`{3,}|~{3,})([^`]*)$/
/** Link definitions apply to the whole text, so text with definitions is not split. */
const definitionPattern = /^ {0,3}\[[^\]\n]+\]:/m

/**
 * Splits text before unindented lines that follow a blank line, so that growing text changes only its last block. Code
 * blocks become separate blocks that need no parsing.
 */
export function splitBlocks(text: string): MarkdownBlock[] {
  if (text.length <= parsedCharsMax && definitionPattern.test(text)) return [{ kind: 'markdown', text }]
  const blocks: MarkdownBlock[] = []
  let lines: string[] = []
  let fence: { mark: string; language: string } | undefined
  let isInList = false
  let chars = 0

  const close = () => {
    const own = lines.join('\n')
    lines = []
    chars = 0
    if (fence) blocks.push({ kind: 'code', text: own, language: fence.language })
    else if (own.trim() !== '') blocks.push({ kind: own.length > parsedCharsMax ? 'plain' : 'markdown', text: own })
  }

  for (const line of text.split('\n')) {
    if (fence) {
      if (!isEndOf(fence.mark, line)) lines.push(line)
      else {
        close()
        fence = undefined
      }
      continue
    }
    const [, mark, info = ''] = fencePattern.exec(line) ?? []
    const isAfterBlank = lines.at(-1)?.trim() === ''
    const isMarked = /^(?:[-*+]|\d{1,9}[.)])(?:\s|$)/.test(line)
    const isAtMargin = line !== '' && !/^\s/.test(line)
    const mayEnd = isAfterBlank && isAtMargin && !(isMarked && isInList)
    if (mark !== undefined || mayEnd) isInList = false
    if (mark !== undefined || (mayEnd && chars >= blockCharsMin)) close()
    if (mark !== undefined) {
      fence = { mark, language: info.trim().split(/\s/, 1)[0]! }
      continue
    }
    if (isMarked) isInList = true
    chars += line.length + 1
    lines.push(line)
  }
  close()
  return blocks
}

function isEndOf(mark: string, line: string): boolean {
  const end = line.trim()
  return end.length >= mark.length && end === mark[0]!.repeat(end.length)
}
