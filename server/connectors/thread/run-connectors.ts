import type { Connectors, ToolAnswer } from '../../agents/config/define-config.ts'
import { ConnectorError, type ConnectorSpec } from '../connector-spec.ts'

/** The connectors of one run, from its beginning to its end. */
export type RunConnectors = Connectors & {
  /**
   * Aborts with the ConnectorError when a server gave no answer, which fails the run, and with a
   * ConnectorsUnavailableError when the connections were lost: for agents that would go on when a tool throws.
   */
  readonly failed: AbortSignal
  /** Never rejects. */
  close(): Promise<void>
}

/** The same connectors, called through `call`. */
export function callThrough(connectors: RunConnectors, call: RunConnectors['call']): RunConnectors {
  const { failed, tools } = connectors
  return { tools, failed, close: () => connectors.close(), call }
}

/** A run as the service begins it; agents of the configuration see the public part. */
export type RunOf<Run> = Run & { readonly connectors: RunConnectors }

export type OpenConnectors = {
  /** Names that the agent's own tools have. */
  reservedNames: readonly string[]
  signal: AbortSignal
  /** How long the run may wait for room for its servers. */
  waitMs: number
}

/**
 * Throws a ConnectorError when one of them cannot be used, a ConnectorsUnavailableError when the service cannot have them
 * now, and then none is open.
 */
export type Connect = (specs: readonly ConnectorSpec[], options: OpenConnectors) => Promise<RunConnectors>

export function noSuchTool(name: string): ConnectorError {
  return new ConnectorError(`No connector of this run has a tool named "${name}".`)
}

/** The answer of a call that failed. */
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
 * Connects to all of a run's connectors. Throws a ConnectorError when one cannot be used, and then none is open.
 * Without connectors the answer is there at once: a run that waits only begins when those behind it have, and when it
 * then blocks its thread, they cannot be taken back.
 */
export function openRunConnectors(
  specs: readonly ConnectorSpec[],
  { connect, ...options }: OpenConnectors & { connect: Connect },
): RunConnectors | Promise<RunConnectors> {
  return specs.length === 0 ? noConnectors : connect(specs, options)
}
