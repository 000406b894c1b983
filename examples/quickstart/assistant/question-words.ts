/** A word, figure, quotation or comparison sign of a question. */
export type QuestionWord = {
  readonly text: string
  /** Lower case and, for words, singular: what words compare by. */
  readonly key: string
  readonly start: number
  readonly end: number
  readonly isQuoted: boolean
}

const pattern =
  /"([^"]+)"|“([^”]+)”|`([^`]+)`|(?<![\p{L}\p{N}])'([^']+)'(?!\p{L})|[<>]=?|[=!]=+|=|[+-]?\d+(?:[-.,:/]\d+)*(?![\p{L}])|[\p{L}\p{M}\p{N}%$€£]+(?:['’]\p{L}+)?/gu

export function readQuestionWords(question: string): QuestionWord[] {
  return [...question.matchAll(pattern)].map((match) => {
    const quoted = match[1] ?? match[2] ?? match[3] ?? match[4]
    const text = quoted ?? match[0]
    const key = quoted === undefined ? singular(text.normalize('NFKC').toLowerCase()) : text.trim().toLowerCase()
    return { text, key, start: match.index, end: match.index + match[0].length, isQuoted: quoted !== undefined }
  })
}

/** The words of a column's name: `unit_price`, `unit-price`, `Unit Price` and `unitPrices` are the same. */
export function splitName(name: string): string[] {
  const spaced = name.normalize('NFKC').replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
  return (spaced.toLowerCase().match(/[\p{L}\p{M}\p{N}%$€£]+/gu) ?? []).map(singular)
}

/** Both forms of a word become the same key; it need not be a proper singular. */
export function singular(word: string): string {
  const bare = word.replace(/['’]s$/, '')
  if (bare.length < 3 || !/^\p{L}+$/u.test(bare) || /(?:ss|us|is|as)$/.test(bare)) return bare
  if (bare.endsWith('ies')) return `${bare.slice(0, -3)}y`
  if (/(?:ch|sh|x|ss|z)es$/.test(bare)) return bare.slice(0, -2)
  return bare.endsWith('s') ? bare.slice(0, -1) : bare
}
