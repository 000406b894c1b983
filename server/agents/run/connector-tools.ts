import type { JSONValue, ToolSet } from 'ai'
import type { RunConnectors } from '../../connectors/thread/run-connectors.ts'
import type { ToolAnswer } from '../config/define-config.ts'

/**
 * Converts a run's connector tools to AI SDK tools. Their results reach the model unchanged, except that base64 data is
 * removed.
 */
export async function connectorTools(connectors: RunConnectors): Promise<ToolSet> {
  if (connectors.tools.length === 0) return {}
  const { dynamicTool, jsonSchema } = await import('ai')
  const tools = connectors.tools.map(({ description, inputSchema, name }) => {
    const tool = dynamicTool({
      description,
      inputSchema: jsonSchema(inputSchema),
      execute: async (input) => {
        const { text: _text, ...output } = await connectors.call(name, input as Record<string, unknown>)
        return output
      },
      toModelOutput: ({ output }) => toModelOutput(output as Omit<ToolAnswer, 'text'>),
    })
    return [name, tool] as const
  })
  return Object.fromEntries(tools)
}

function toModelOutput({ content, isError, structuredContent }: Omit<ToolAnswer, 'text'>) {
  const isText = content.every(({ type }) => type === 'text')
  if (isText && (content.length > 0 || structuredContent === undefined)) {
    const value = content.map(({ text }) => String(text)).join('\n')
    return { type: isError ? ('error-text' as const) : ('text' as const), value }
  }
  const json = content.length > 0 ? JSON.stringify(content, withoutBytes) : JSON.stringify(structuredContent)
  const value = JSON.parse(json) as JSONValue
  return { type: isError ? ('error-json' as const) : ('json' as const), value }
}

/**
 * JSON replacer that omits base64 data. A model would read an image as 100,000 tokens of text, all of them charged.
 */
function withoutBytes(key: string, value: unknown): unknown {
  const isBytes = (key === 'data' || key === 'blob') && typeof value === 'string'
  return isBytes ? `(${value.length} characters of base64)` : value
}
