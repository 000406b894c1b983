import type { ToolAnswer } from '../agents/define-config.ts'

const answerCharsMax = 2 * 1024 * 1024
/** Shorter ones are parts of ordinary words and numbers. */
const secretCharsMin = 6

type Content = ToolAnswer['content']

/** What a server answered to a call, bounded, and without the user's secrets. */
export function toToolAnswer(result: object, secrets: readonly string[]): ToolAnswer {
  const { content, isError, structuredContent, toolResult } = withoutSecrets(result, secrets) as {
    content?: Content
    isError?: boolean
    structuredContent?: unknown
    toolResult?: unknown
  }
  // Servers of the first version of the protocol answer with a value alone.
  const parts = content ?? [{ type: 'text', text: JSON.stringify(toolResult) ?? '' }]
  const size = JSON.stringify([parts, structuredContent]).length
  if (size > answerCharsMax) return answerError(`The tool answered with more than ${answerCharsMax} characters.`, [])
  return {
    content: parts,
    ...(structuredContent !== undefined && { structuredContent }),
    isError: isError === true,
    text: textOf(parts),
  }
}

/** The answer of a call that the server refused. */
export function answerError(message: string, secrets: readonly string[]): ToolAnswer {
  const text = withoutSecrets(message, secrets)
  return { content: [{ type: 'text', text }], isError: true, text }
}

/** A value of JSON in whose strings and keys no secret is left. */
export function withoutSecrets<Value>(value: Value, secrets: readonly string[]): Value {
  // The longest first: a shorter one may be its beginning.
  const known = secrets.filter((secret) => secret.length >= secretCharsMin).toSorted((a, b) => b.length - a.length)
  if (known.length === 0) return value
  const cleanText = (text: string) => known.reduce((rest, secret) => rest.replaceAll(secret, '…'), text)
  const clean = (part: unknown): unknown => {
    if (typeof part === 'string') return cleanText(part)
    if (Array.isArray(part)) return part.map(clean)
    if (typeof part !== 'object' || part === null) return part
    return Object.fromEntries(Object.entries(part).map(([key, item]) => [cleanText(key), clean(item)]))
  }
  return clean(value) as Value
}

function textOf(content: Content): string {
  return content.flatMap(({ text, type }) => (type === 'text' && typeof text === 'string' ? [text] : [])).join('\n')
}
