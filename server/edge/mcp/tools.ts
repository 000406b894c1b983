import { agentsFor } from '../../agents/agents-router.ts'
import type { Catalogue, Endpoint } from '../../agents/config/catalogue.ts'
import type { Caller } from '../../procedures/caller.ts'
import { nameTools } from '../../connectors/thread/name-tools.ts'
import { formatUsd } from '../../kernel/money.ts'
import { invalidParams, type McpMessage } from './mcp-message.ts'
import { outputSchemaOf } from './output-schema.ts'

export const toolsPerPage = 200

/**
 * Presents the endpoints as tools. A tool has the same name for all callers: the endpoint's id, with `_` in place of
 * characters that model providers reject.
 */
export class Tools {
  readonly #catalogue: Catalogue
  #named: Named

  constructor(catalogue: Catalogue) {
    this.#catalogue = catalogue
    this.#named = nameEndpoints(catalogue)
  }

  get #current(): Named {
    if (this.#named.generation !== this.#catalogue.generation) this.#named = nameEndpoints(this.#catalogue)
    return this.#named
  }

  /** Returns a page of the tools that the caller may run, with `nextCursor` if there are more. */
  list(caller: Caller, cursor: unknown, { isCurrent }: McpMessage) {
    const { names } = this.#current
    const from = cursor === undefined ? 0 : readCursor(cursor)
    const all = agentsFor(this.#catalogue, caller).flatMap(({ endpoints, name }) =>
      endpoints.map((endpoint) => ({ agentName: name, endpoint })),
    )
    const to = from + toolsPerPage
    const tools = all.slice(from, to).map(({ agentName, endpoint }) => {
      const outputSchema = outputSchemaOf(endpoint)
      return {
        name: names.get(endpoint)!,
        title: `${agentName}: ${endpoint.name}`,
        description: describe(endpoint),
        // Clients reject a tool whose schema omits `type`. Params are always an object, even if the schema does not say
        // so.
        inputSchema: { ...endpoint.paramsJsonSchema, type: 'object' },
        ...(outputSchema && { outputSchema }),
        ...(!isCurrent && { execution: { taskSupport: 'optional' } }),
        _meta: { endpointId: endpoint.id, priceUsd: formatUsd(endpoint.price) },
      }
    })
    return { tools, ...(to < all.length && { nextCursor: String(to) }) }
  }

  find(caller: Caller, name: unknown): Endpoint {
    const endpoint = typeof name === 'string' ? this.#current.endpoints.get(name) : undefined
    const isTheirs = endpoint && agentsFor(this.#catalogue, caller).some(({ id }) => id === endpoint.agentId)
    if (isTheirs) return endpoint
    throw invalidParams(
      typeof name === 'string'
        ? `Unknown tool ${name.slice(0, 128)}. Call tools/list for the available tools.`
        : 'name: Must be a string.',
    )
  }
}

type Named = { generation: number; names: Map<Endpoint, string>; endpoints: Map<string, Endpoint> }

function nameEndpoints({ agents, generation }: Catalogue): Named {
  const endpoints = agents.flatMap((agent) => agent.endpoints)
  const names = nameTools(
    endpoints.map(({ agentId, id }) => ({ connectorName: agentId, toolName: id })),
    [],
  )
  return {
    generation,
    names: new Map(endpoints.map((endpoint, at) => [endpoint, names[at]!])),
    endpoints: new Map(endpoints.map((endpoint, at) => [names[at]!, endpoint])),
  }
}

function readCursor(cursor: unknown): number {
  if (typeof cursor === 'string' && /^\d{1,6}$/.test(cursor)) return Number(cursor)
  throw invalidParams('cursor: Must be the nextCursor of a previous page.')
}

function describe({ description, meters, price, rates }: Endpoint): string {
  const most = formatUsd(price)
  if (rates)
    return `${description}\n\nThe price of a call depends on its tokens and is at most ${most} USD. Failed calls are refunded in full.`
  if (!meters) return `${description}\n\nA call costs ${most} USD. Failed calls are refunded.`
  const each = Object.entries(meters).map(([event, units]) => `${event} ${formatUsd(units)} USD`)
  const metered = `A call costs at most ${most} USD, depending on usage: ${each.join(', ')}.`
  return `${description}\n\n${metered} The unused part is refunded. Failed calls are refunded in full.`
}
