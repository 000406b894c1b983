import type { Connectors, ToolAnswer } from '../tool-types.ts'
import { UnknownToolError, type ConnectorSpec } from '../connector-spec.ts'

export type RunConnectors = Connectors & {
  /**
   * Aborts with a ConnectorError if a server did not respond, and the run then fails. Aborts with a
   * ConnectorsUnavailableError if the connections were lost. Needed because agents may ignore an error that a tool
   * throws.
   */
  readonly failed: AbortSignal
  /** Never rejects. */
  close(): Promise<void>
}

export function callThrough(connectors: RunConnectors, call: RunConnectors['call']): RunConnectors {
  const { failed, tools } = connectors
  return { tools, failed, close: () => connectors.close(), call }
}

/** The service's internal form of a run. Agents in the configuration see only its public part, `Run`. */
export type RunOf<Run> = Run & { readonly connectors: RunConnectors }

export type OpenConnectors = {
  reservedNames: readonly string[]
  signal: AbortSignal
  /** How long the run may wait for process slots for its MCP servers. */
  waitMs: number
}

/**
 * Throws a ConnectorError if a connector is unusable, or a ConnectorsUnavailableError if the service cannot provide the
 * connectors now. In both cases, no connector stays open.
 */
export type Connect = (specs: readonly ConnectorSpec[], options: OpenConnectors) => Promise<RunConnectors>

export function noSuchTool(name: string): UnknownToolError {
  return new UnknownToolError(`No connector in this run has the tool "${name}". Call one of the listed tools.`)
}

export function toolError(text: string): ToolAnswer {
  return { content: [{ type: 'text', text }], isError: true, text }
}

export const noConnectors: RunConnectors = {
  tools: [],
  failed: new AbortController().signal,
  call: async (name) => {
    throw noSuchTool(name)
  },
  close: async () => {},
}

/**
 * Connects to all connectors of a run. If one is unusable, closes the others and throws a ConnectorError. Without
 * connectors, returns synchronously, because awaiting a promise would let all runs queued behind this one start first.
 * If this run then blocked the thread, they could no longer move to another.
 */
export function openRunConnectors(
  specs: readonly ConnectorSpec[],
  { connect, ...options }: OpenConnectors & { connect: Connect },
): RunConnectors | Promise<RunConnectors> {
  return specs.length === 0 ? noConnectors : connect(specs, options)
}
