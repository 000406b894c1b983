import type { ToolAnswer } from '../agents/define-config.ts'
import { nesting } from '../agents/run-outcome.ts'

const answerCharsMax = 2 * 1024 * 1024
const errorCharsMax = 4000
/** A task's response may have 500. */
const levelsMax = 400
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
  const json = JSON.stringify([parts, structuredContent])
  if (json.length > answerCharsMax) {
    return answerError(`The tool answered with more than ${answerCharsMax} characters.`, [])
  }
  // An agent that hands it on would fail for it.
  if (nesting(json) > levelsMax) return answerError(`The tool's answer is nested deeper than ${levelsMax} levels.`, [])
  return {
    content: parts,
    ...(structuredContent !== undefined && { structuredContent }),
    isError: isError === true,
    text: textOf(parts),
  }
}

/** The answer of a call that the server refused. */
export function answerError(message: string, secrets: readonly string[]): ToolAnswer {
  const text = withoutSecrets(message, secrets).slice(0, errorCharsMax)
  return { content: [{ type: 'text', text }], isError: true, text }
}

/** A value of JSON in whose strings and keys no secret is left. */
export function withoutSecrets<Value>(value: Value, secrets: readonly string[]): Value {
  // Also as they are inside of a text that is JSON. The longest first: a shorter one may be its beginning.
  const known = secrets
    .flatMap((secret) => (secret.length < secretCharsMin ? [] : [secret, JSON.stringify(secret).slice(1, -1)]))
    .toSorted((a, b) => b.length - a.length)
  if (known.length === 0) return value
  const cleanText = (text: string) => known.reduce((rest, secret) => rest.replaceAll(secret, '…'), text)
  const clean = (part: unknown): unknown => {
    if (typeof part === 'string') return cleanText(part)
    if (typeof part === 'number') return known.includes(String(part)) ? '…' : part
    if (Array.isArray(part)) return part.map(clean)
    if (typeof part !== 'object' || part === null) return part
    return Object.fromEntries(Object.entries(part).map(([key, item]) => [cleanText(key), clean(item)]))
  }
  return clean(value) as Value
}

function textOf(content: Content): string {
  return content.flatMap(({ text, type }) => (type === 'text' && typeof text === 'string' ? [text] : [])).join('\n')
}
