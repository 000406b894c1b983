import type { Connectors } from '../agents/define-config.ts'
import type { OnChild } from './child-groups.ts'
import { ConnectorError, type ConnectorSpec } from './connector-spec.ts'

/** The connectors of one run, from its beginning to its end. */
export type RunConnectors = Connectors & {
  /**
   * Aborts with the ConnectorError when a server gave no answer, which fails the run: for agents that would go on when
   * a tool throws.
   */
  readonly failed: AbortSignal
  /** Never rejects. */
  close(): Promise<void>
}

/** A run as the service begins it; agents of the configuration see the public part. */
export type RunOf<Run> = Run & { readonly connectors: RunConnectors }

export type OpenConnectors = {
  /** Names that the agent's own tools have. */
  reservedNames: readonly string[]
  signal: AbortSignal
  onChild: OnChild
}

export const noConnectors: RunConnectors = {
  tools: [],
  failed: new AbortController().signal,
  call: async (name) => {
    throw new ConnectorError(`No connector of this run has a tool named "${name}".`)
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
  options: OpenConnectors,
): RunConnectors | Promise<RunConnectors> {
  return specs.length === 0 ? noConnectors : openAll(specs, options)
}

async function openAll(specs: readonly ConnectorSpec[], options: OpenConnectors): Promise<RunConnectors> {
  // The protocol's client takes a while to load, and most runs have no use for it.
  const { openConnectors } = await import('./open-connectors.ts')
  return await openConnectors(specs, options)
}
