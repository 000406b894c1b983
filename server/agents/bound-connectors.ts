import { ConnectorError } from '../connectors/connector-spec.ts'
import type { RunConnectors } from '../connectors/run-connectors.ts'
import { tokensAtMost } from './chat-messages.ts'
import type { ToolAnswer } from './define-config.ts'

/**
 * Connectors that add at most so many tokens to the prompts of a run, a byte counted as one: by what their tools are
 * described in, and then by what these answer. Throws a ConnectorError where the descriptions alone are more.
 */
export function boundConnectors(connectors: RunConnectors, tokensMax: number): RunConnectors {
  if (connectors.tools.length === 0) return connectors
  const described = connectors.tools.map(({ description, inputSchema, name }) => ({ name, description, inputSchema }))
  let left = tokensMax - tokensAtMost(JSON.stringify(described))
  if (left < 0) {
    // They stay unused.
    void connectors.close()
    throw new ConnectorError(
      `The tools of the connectors are described in more than the ${tokensMax} bytes that this agent takes; allow fewer of them.`,
    )
  }
  return {
    tools: connectors.tools,
    failed: connectors.failed,
    close: () => connectors.close(),
    call: async (name, args) => {
      const answer = await connectors.call(name, args)
      // Its texts stand in its content.
      const { text: _text, ...sent } = answer
      const tokens = tokensAtMost(JSON.stringify(sent))
      if (tokens > left) return tooLong(left)
      left -= tokens
      return answer
    },
  }
}

/** An answer, so that a model can say so, or ask for less. */
function tooLong(left: number): ToolAnswer {
  const text = `The tool's answer is too long: of what tools may answer in this run ${left} bytes are left.`
  return { content: [{ type: 'text', text }], isError: true, text }
}
