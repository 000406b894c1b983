import type { ConnectorTool, ToolAnswer } from '../agents/define-config.ts'
import { ConnectorError, type ConnectorSpec } from './connector-spec.ts'
import type { OnChild } from './child-groups.ts'
import { McpConnection, type McpTool } from './mcp-connection.ts'
import { nameTools } from './name-tools.ts'
import type { OpenConnectors, RunConnectors } from './run-connectors.ts'

type Opened = { connection: McpConnection; tools: readonly McpTool[] }

/** Connects to all of a run's connectors. Throws a ConnectorError when one cannot be used, and then all are closed. */
export async function openConnectors(
  specs: readonly ConnectorSpec[],
  { onChild, reservedNames, signal }: OpenConnectors,
): Promise<RunConnectors> {
  const giveUp = new AbortController()
  const options = { onChild, signal: AbortSignal.any([signal, giveUp.signal]) }
  let failure: unknown
  const opened = await Promise.all(
    specs.map(async (spec) => {
      try {
        return await openOne(spec, options)
      } catch (error) {
        failure ??= error
        giveUp.abort(error)
        return undefined
      }
    }),
  )
  const connections = opened.filter((one) => one !== undefined)
  if (failure === undefined) return new OpenedConnectors(connections, reservedNames)
  // Nobody waits for servers to end.
  for (const { connection } of connections) void connection.close()
  throw failure
}

async function openOne(spec: ConnectorSpec, options: { signal: AbortSignal; onChild: OnChild }): Promise<Opened> {
  const connection = await McpConnection.open(spec, options)
  try {
    const { allowedTools } = spec
    const tools = await connection.listTools()
    return { connection, tools: tools.filter(({ name }) => allowedTools?.includes(name) ?? true) }
  } catch (error) {
    void connection.close()
    throw error
  }
}

class OpenedConnectors implements RunConnectors {
  readonly tools: readonly ConnectorTool[]
  readonly #routes = new Map<string, { connection: McpConnection; toolName: string }>()
  readonly #connections: readonly McpConnection[]
  readonly #failure = new AbortController()

  constructor(opened: readonly Opened[], reservedNames: readonly string[]) {
    this.#connections = opened.map(({ connection }) => connection)
    const offered = opened.flatMap(({ connection, tools }) => tools.map((tool) => ({ connection, tool })))
    const names = nameTools(
      offered.map(({ connection, tool }) => ({ connectorName: connection.spec.name, toolName: tool.name })),
      reservedNames,
    )
    this.tools = offered.map(({ connection, tool }, at) => {
      const name = names[at]!
      this.#routes.set(name, { connection, toolName: tool.name })
      const { connectorId, name: connectorName } = connection.spec
      return { name, connectorId, connectorName, description: tool.description, inputSchema: tool.inputSchema }
    })
  }

  get failed(): AbortSignal {
    return this.#failure.signal
  }

  async call(name: string, args: Record<string, unknown> = {}): Promise<ToolAnswer> {
    const route = this.#routes.get(name)
    if (!route) throw new ConnectorError(`No connector of this run has a tool named "${name}".`)
    try {
      return await route.connection.call(route.toolName, args)
    } catch (error) {
      this.#failure.abort(error)
      throw error
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#connections.map((connection) => connection.close()))
  }
}
