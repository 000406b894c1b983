import type { ToolAnswer } from '../../agents/config/define-config.ts'
import { nesting } from '../../agents/run/run-outcome.ts'
import { filterOf } from '../secret-filter.ts'
import { toolError } from './run-connectors.ts'

const answerCharsMax = 2 * 1024 * 1024
const errorCharsMax = 4000
/** A task's response may have 500. */
const levelsMax = 400

type Content = ToolAnswer['content']

/** What a server answered to a call, bounded, and without the user's secrets. */
export function toToolAnswer(result: object, secrets: readonly string[]): ToolAnswer {
  const { content, isError, structuredContent, toolResult } = result as {
    content?: Content
    isError?: boolean
    structuredContent?: unknown
    toolResult?: unknown
  }
  const tooDeep = `The tool's answer is nested deeper than ${levelsMax} levels.`
  let parts: Content
  try {
    // Servers of the first version of the protocol answer with a value alone.
    parts = content ?? [{ type: 'text', text: JSON.stringify(toolResult) ?? '' }]
    // Before anything else is done with it.
    const json = JSON.stringify([parts, structuredContent])
    if (json.length > answerCharsMax) {
      return answerError(`The tool answered with more than ${answerCharsMax} characters.`, [])
    }
    // An agent that hands it on would fail for it.
    if (nesting(json) > levelsMax) return answerError(tooDeep, [])
  } catch (error) {
    // Values are read and written level by level, until the stack ends.
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

/** The answer of a call that the server refused. */
export function answerError(message: string, secrets: readonly string[]): ToolAnswer {
  return toolError(filterOf(secrets).cleanText(message, errorCharsMax))
}

/** Whether a list of tools that is a text of JSON could be handed on. */
export function isTooDeep(json: string): boolean {
  return nesting(json) > levelsMax
}

function textOf(content: Content): string {
  return content.flatMap(({ text, type }) => (type === 'text' && typeof text === 'string' ? [text] : [])).join('\n')
}
