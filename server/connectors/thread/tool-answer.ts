import type { ToolAnswer } from '../tool-types.ts'
import { nesting } from '../../kernel/json-text.ts'
import { filterOf } from '../secret-filter.ts'
import { toolError } from './run-connectors.ts'

const answerCharsMax = 2 * 1024 * 1024
const errorCharsMax = 4000
/** Maximum nesting depth of a tool result. Lower than the maximum for a task's response, which is 500. */
export const levelsMax = 400

type Content = ToolAnswer['content']

/** Converts a server's response to a tool result with limited size and redacted secrets. */
export function toToolAnswer(result: object, secrets: readonly string[]): ToolAnswer {
  const { content, isError, structuredContent, toolResult } = result as {
    content?: Content
    isError?: boolean
    structuredContent?: unknown
    toolResult?: unknown
  }
  const tooDeep = `The tool's result has more than ${levelsMax} levels of nesting. Request a simpler result.`
  let parts: Content
  try {
    // Servers that use the first version of the protocol return a bare value.
    parts = content ?? [{ type: 'text', text: JSON.stringify(toolResult) ?? '' }]
    const json = JSON.stringify([parts, structuredContent])
    if (json.length > answerCharsMax) {
      return answerError(`The tool answered with more than ${answerCharsMax} characters. Request a shorter result.`, [])
    }
    // An agent would fail if it returned a deeper value as its own result.
    if (nesting(json) > levelsMax) return answerError(tooDeep, [])
  } catch (error) {
    // JSON is parsed and serialized recursively, which can overflow the stack.
    if (error instanceof RangeError) return answerError(tooDeep, [])
    throw error
  }
  const filter = filterOf(secrets)
  const clean = filter.clean(parts)
  return {
    content: clean,
    ...(structuredContent !== undefined && { structuredContent: filter.clean(structuredContent) }),
    isError: isError === true,
    text: textOf(clean),
  }
}

export function answerError(message: string, secrets: readonly string[]): ToolAnswer {
  return toolError(filterOf(secrets).cleanText(message, errorCharsMax))
}

export function isTooDeep(json: string): boolean {
  return nesting(json) > levelsMax
}

function textOf(content: Content): string {
  return content.flatMap(({ text, type }) => (type === 'text' && typeof text === 'string' ? [text] : [])).join('\n')
}
