import type { Connectors, ToolAnswer } from '../tool-types.ts'
import { ConnectorError, type ConnectorSpec } from '../connector-spec.ts'

export type RunConnectors = Connectors & {
  /**
   * Aborts with the ConnectorError if a server gave no answer, which fails the run. Aborts with a
   * ConnectorsUnavailableError if the connections were lost. Needed for agents that continue when a tool throws.
   */
  readonly failed: AbortSignal
  /** Never rejects. */
  close(): Promise<void>
}

/** Returns connectors that make their calls through `call`. */
export function callThrough(connectors: RunConnectors, call: RunConnectors['call']): RunConnectors {
  const { failed, tools } = connectors
  return { tools, failed, close: () => connectors.close(), call }
}

/** A run as the service passes it to an agent. Agents in the configuration see only its public part, `Run`. */
export type RunOf<Run> = Run & { readonly connectors: RunConnectors }

export type OpenConnectors = {
  /** Names of the agent's own tools. */
  reservedNames: readonly string[]
  signal: AbortSignal
  /** How long the run may wait for process slots for its servers. */
  waitMs: number
}

/**
 * Throws a ConnectorError if a connector is unusable, or a ConnectorsUnavailableError if the service cannot provide the
 * connectors now. Both leave no connector open.
 */
export type Connect = (specs: readonly ConnectorSpec[], options: OpenConnectors) => Promise<RunConnectors>

export function noSuchTool(name: string): ConnectorError {
  return new ConnectorError(`No connector of this run has a tool named "${name}".`)
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
 * connectors it returns synchronously. If such a run awaited a promise, it would start only after the runs queued
 * behind it. If it then blocked its thread, these runs could not move to another thread.
 */
export function openRunConnectors(
  specs: readonly ConnectorSpec[],
  { connect, ...options }: OpenConnectors & { connect: Connect },
): RunConnectors | Promise<RunConnectors> {
  return specs.length === 0 ? noConnectors : connect(specs, options)
}
