import type { ConnectorTool, ToolAnswer } from '../tool-types.ts'
import { must } from '../../kernel/assert.ts'
import type { ConnectorSpec } from '../connector-spec.ts'
import type { McpConnection, McpTool } from './mcp-connection.ts'
import { nameTools } from './name-tools.ts'
import { openConnection, takeProcesses, type ConnectorMeans } from '../process-places.ts'
import { noSuchTool, type OpenConnectors, type RunConnectors } from './run-connectors.ts'

type Opened = { connection: McpConnection; spec: ConnectorSpec; tools: readonly McpTool[] }

export type OpenOptions = OpenConnectors & ConnectorMeans

export async function openConnectors(
  specs: readonly ConnectorSpec[],
  { reservedNames, signal, waitMs, ...means }: OpenOptions,
): Promise<RunConnectors> {
  const groups = groupByServer(specs)
  await takeProcesses(groups, { bounds: means.bounds, signal, waitMs })
  const giveUp = new AbortController()
  const options = { ...means, signal: AbortSignal.any([signal, giveUp.signal]) }
  let failure: unknown
  const opened = await Promise.all(
    groups.map(async (group) => {
      try {
        return await openGroup(group, options)
      } catch (error) {
        failure ??= error
        giveUp.abort(error)
        return []
      }
    }),
  )
  const connectors = opened.flat()
  if (failure === undefined) {
    const ordered = connectors.toSorted((a, b) => specs.indexOf(a.spec) - specs.indexOf(b.spec))
    return new OpenedConnectors(ordered, reservedNames)
  }
  // Do not await: servers may exit slowly.
  for (const { connection } of connectors) void connection.close()
  throw failure
}

/** Groups connectors to the same server with the same secrets. Each group shares one process. */
function groupByServer(specs: readonly ConnectorSpec[]): ConnectorSpec[][] {
  const groups = new Map<string, ConnectorSpec[]>()
  for (const spec of specs) {
    const { connectorId, target } = spec
    const key = target.kind === 'stdio' ? JSON.stringify(target) : connectorId
    groups.set(key, [...(groups.get(key) ?? []), spec])
  }
  return [...groups.values()]
}

async function openGroup(
  group: readonly ConnectorSpec[],
  options: ConnectorMeans & Pick<OpenOptions, 'signal'>,
): Promise<Opened[]> {
  const first = must(group[0], 'a group has a connector')
  const connection = await openConnection(first, options)
  try {
    const tools = await connection.listTools()
    return group.map((spec) => {
      const { allowedTools } = spec
      return { connection, spec, tools: tools.filter(({ name }) => allowedTools?.includes(name) ?? true) }
    })
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
    const offered = opened.flatMap(({ tools, ...of }) => tools.map((tool) => ({ ...of, tool })))
    const names = nameTools(
      offered.map(({ spec, tool }) => ({ connectorName: spec.name, toolName: tool.name })),
      reservedNames,
    )
    this.tools = offered.map(({ connection, spec, tool }, at) => {
      const name = names[at]!
      this.#routes.set(name, { connection, toolName: tool.name })
      const { connectorId, name: connectorName } = spec
      return { name, connectorId, connectorName, description: tool.description, inputSchema: tool.inputSchema }
    })
  }

  get failed(): AbortSignal {
    return this.#failure.signal
  }

  async call(name: string, args: Record<string, unknown> = {}): Promise<ToolAnswer> {
    const route = this.#routes.get(name)
    if (!route) throw noSuchTool(name)
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
