import { ConnectorError } from '../../connectors/connector-spec.ts'
import { callThrough, toolError, type RunConnectors } from '../../connectors/thread/run-connectors.ts'
import { tokensAtMost } from './chat-messages.ts'
import type { ToolAnswer } from '../config/define-config.ts'

/**
 * Connectors that add at most so many tokens to the prompts of a run, a byte counted as one: by what their tools are
 * described in, and then by what these answer. Throws a ConnectorError where the descriptions alone are more.
 */
export function boundConnectors(connectors: RunConnectors, tokensMax: number): RunConnectors {
  if (connectors.tools.length === 0) return connectors
  let left = tokensMax - describedTokens(connectors)
  if (left < 0) {
    // They stay unused.
    void connectors.close()
    throw new ConnectorError(
      `The tools of the connectors are described in more than the ${tokensMax} bytes that this agent takes; allow fewer of them.`,
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
  /** Before each call of the model; whether yet another one may follow it. */
  beginPrompt: () => boolean
}

/**
 * The same for a model's task, whose price is fixed: each call of the model is sent the descriptions and all answers so
 * far once more, and all of these together are at most so many tokens.
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
          `The tools of the connectors and their answers are more than the ${tokensMax} bytes that this agent takes, each time that its model is sent them.`,
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

/** Its texts stand in its content. */
function answerTokens({ text: _text, ...sent }: ToolAnswer): number {
  return tokensAtMost(JSON.stringify(sent))
}

/** An answer, so that a model can say so, or ask for less. */
function tooLong(left: number): ToolAnswer {
  return toolError(`The tool's answer is too long: of what tools may answer in this run ${left} bytes are left.`)
}
