import type { ToolSet } from 'ai'
import { messageOf } from '../../kernel/thrown.ts'
import { ConfigError } from '../../kernel/settings.ts'
import type { Agent, Catalogue } from '../config/catalogue.ts'
import type { ErrandConfig } from '../config/define-config.ts'
import { toolsAtMost } from '../run/prompt-size.ts'

/** Maximum number of tokens in each agent's own tool definitions. Agents without tools have no entry. */
export type ToolTokens = WeakMap<Agent, number>

/**
 * Stores the tool token counts of the catalogue's chat agents in `measured`. Throws a ConfigError if a tool's schema is
 * invalid.
 */
export async function measureTools(
  { agents }: Pick<ErrandConfig, 'agents'>,
  { catalogue, measured }: { catalogue: Catalogue; measured: ToolTokens },
): Promise<void> {
  for (const agent of agents) {
    if (agent.kind === 'code' || agent.kind === 'http' || !agent.pricing || !agent.tools) continue
    try {
      measured.set(catalogue.agent(agent.id)!, toolsAtMost(await definitionsOf(agent.tools as ToolSet)))
    } catch (error) {
      throw new ConfigError(`agents: a tool of "${agent.id}" is invalid. Fix its schema: ${messageOf(error)}`)
    }
  }
}

async function definitionsOf(tools: ToolSet): Promise<object[]> {
  const { asSchema } = await import('ai')
  const definitions: object[] = []
  for (const [name, tool] of Object.entries(tools)) {
    const { type } = tool
    if (type === 'provider') {
      definitions.push({ type, name, id: tool.id, args: tool.args })
      continue
    }
    const { inputExamples, providerOptions, strict } = tool
    const description =
      typeof tool.description === 'function' ? tool.description({ context: undefined }) : tool.description
    const inputSchema = await asSchema(tool.inputSchema).jsonSchema
    definitions.push({ type: 'function', name, inputSchema, description, inputExamples, providerOptions, strict })
  }
  return definitions
}
