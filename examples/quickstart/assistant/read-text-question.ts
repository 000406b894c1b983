/** What the assistant can be asked about a text. */
export type TextQuestion =
  | { readonly ask: 'summarize'; readonly sentences: number }
  | { readonly ask: 'keywords'; readonly limit: number }
  | { readonly ask: 'count' }
  | { readonly ask: 'find'; readonly words: string }

const numberWords = 'one two three four five six seven eight nine ten'.split(' ')
const number = `(\\d{1,3}|${numberWords.join('|')})`

const finds = [
  /\b(?:sentences?|passages?|paragraphs?|parts?|where)\b.*?\b(?:mentions?|mentioning|mentioned|contains?|containing|includes?|including|talks? about|about|says?|with|uses?|using|having|has|have)\s+(.+)$/i,
  /\b(?:say|says|said|mention|mentions|talk|talks|speak|speaks)\s+about\s+(.+)$/i,
  /\b(?:does|do)\b.*\bmention\s+(.+)$/i,
  /\bsearch(?: the text| it)?(?: for)?\s+(.+)$/i,
  /\b(?:where|how often|how many times)\s+(?:is|are|was|were|does|do)?\s*(.+?)\s+(?:mentioned|appears?|occurs?|named|said)\b/i,
] as const

/**
 * Understands a question about a text by its English keywords, in this order: which sentences mention something, how
 * many words or sentences there are, keywords, and a summary, of as many sentences as the question says.
 */
export function readTextQuestion(question: string): TextQuestion | undefined {
  const text = question.trim().replace(/\s+/g, ' ')
  for (const pattern of finds) {
    const words = cleanWords(pattern.exec(text)?.[1] ?? '')
    if (words !== '') return { ask: 'find', words }
  }
  if (/\b(?:how many|number of|count)\b.*\b(?:words?|sentences?|characters?)\b|\bhow long\b/i.test(text)) {
    return { ask: 'count' }
  }
  if (/\b(?:key ?-?(?:words?|phrases?|terms?)|topics?|(?:important|main|frequent|common) words)\b/i.test(text)) {
    const limit = readCount(text, new RegExp(`\\b${number}\\b`, 'i')) ?? 10
    return { ask: 'keywords', limit: Math.min(Math.max(limit, 1), 50) }
  }
  const sentences = readCount(text, new RegExp(`\\b${number}(?: \\p{L}+)? sentences?\\b`, 'iu'))
  const isSummary =
    /\bsummar|\bsum(?: \w+){0,3} up\b|\btl;? ?dr\b|\bshorten\b|\bcondense\b|\bgist\b|\b(?:main|key) (?:points?|ideas?|messages?)\b|\bin short\b|\bwhat(?: is|'s|’s) (?:it|this|the text|that) about\b/i
  if (!isSummary.test(text) && !/\bin (?:just |only )?\S+ sentences?\b/i.test(text)) return undefined
  return { ask: 'summarize', sentences: Math.min(Math.max(sentences ?? 3, 1), 20) }
}

function readCount(text: string, pattern: RegExp): number | undefined {
  const found = pattern.exec(text)?.[1]?.toLowerCase()
  if (found === undefined) return undefined
  return numberWords.includes(found) ? numberWords.indexOf(found) + 1 : Number(found)
}

/** What is looked for: the quoted words if there are any, else those without "the word", "in the text" and the like. */
function cleanWords(words: string): string {
  const quoted = /["“”'‘`]([^"“”`]+?)["“”'’`](?!\p{L})/u.exec(words)?.[1]
  if (quoted !== undefined) return quoted.trim()
  return words
    .replace(/[\s.?!:,;]+$/, '')
    .replace(/ (?:in|of|from) (?:the|this|that|my) (?:text|document|article|passage|speech|story)$/i, '')
    .replace(/^(?:the |a |an |any )?(?:words?|phrases?|terms?|names?) /i, '')
    .replace(/^(?:the|a|an|about) /i, '')
    .trim()
}
