import { ConnectorError } from '../../connectors/connector-spec.ts'
import { callThrough, toolError, type RunConnectors } from '../../connectors/thread/run-connectors.ts'
import { tokensAtMost } from './chat-messages.ts'
import type { ToolAnswer } from '../config/define-config.ts'

/**
 * Limits the tokens that connectors add to the prompts of a run, counting each byte as one token. Tool descriptions
 * count first, then tool results. Throws a ConnectorError if the descriptions alone exceed the limit.
 */
export function boundConnectors(connectors: RunConnectors, tokensMax: number): RunConnectors {
  if (connectors.tools.length === 0) return connectors
  let left = tokensMax - describedTokens(connectors)
  if (left < 0) {
    void connectors.close()
    throw new ConnectorError(
      `The connectors' tool descriptions are larger than ${tokensMax} bytes, the maximum for this agent. Allow fewer tools.`,
    )
  }
  return callThrough(connectors, async (name, args) => {
    const answer = await connectors.call(name, args)
    const tokens = answerTokens(answer)
    if (tokens > left) return tooLong(left)
    left -= tokens
    return answer
  })
}

type ResentConnectors = {
  connectors: RunConnectors
  /** Call this before each model call. Returns false if the limit allows no model call after that one. */
  beginPrompt: () => boolean
}

/**
 * Limits what connectors add to the prompts of a model agent's task. Each model call sends the tool descriptions and
 * all previous results again, so the limit covers the sum over all calls.
 */
export function boundPrompts(connectors: RunConnectors, tokensMax: number): ResentConnectors {
  if (connectors.tools.length === 0) return { connectors, beginPrompt: () => true }
  let each = describedTokens(connectors)
  let left = tokensMax
  return {
    connectors: callThrough(connectors, async (name, args) => {
      const answer = await connectors.call(name, args)
      const tokens = answerTokens(answer)
      if (each + tokens > left) return tooLong(left - each)
      each += tokens
      return answer
    }),
    beginPrompt: () => {
      if (each > left) {
        throw new ConnectorError(
          `The connectors' tool descriptions and results exceed ${tokensMax} bytes, this agent's maximum per model call. Allow fewer tools.`,
        )
      }
      left -= each
      return each <= left
    },
  }
}

function describedTokens({ tools }: RunConnectors): number {
  return tokensAtMost(
    JSON.stringify(tools.map(({ description, inputSchema, name }) => ({ name, description, inputSchema }))),
  )
}

function answerTokens({ text: _text, ...sent }: ToolAnswer): number {
  return tokensAtMost(JSON.stringify(sent))
}

/** Returns an error result instead of throwing, so that the model can report the problem or request less data. */
function tooLong(left: number): ToolAnswer {
  return toolError(
    `The tool's result is too large: this run has ${left} bytes left for tool results. Request a smaller result.`,
  )
}
