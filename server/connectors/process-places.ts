import type { ConnectorBounds } from './connector-bounds.ts'
import { ConnectorError, type ConnectorSpec } from './connector-spec.ts'
import { McpConnection } from './mcp-connection.ts'

type Options = { bounds: ConnectorBounds; signal: AbortSignal }

/** Servers of runs that have just ended take a second or two to go. */
const waitMs = 5000

/**
 * Takes a place for each process that a run needs, all at once: two runs that each had half of theirs would wait for
 * each other. Each is given back when its connection is closed. Throws a ConnectorError when there is no room for them.
 */
export async function takeProcesses(
  groups: readonly (readonly ConnectorSpec[])[],
  { bounds, signal }: Options,
): Promise<void> {
  const needed = groups.flatMap(([first]) => (first?.target.kind === 'stdio' ? [first] : []))
  const [spec] = needed
  if (!spec) return
  const { limits, processes } = bounds
  const { perUserMax } = processes
  if (needed.length > perUserMax) {
    throw refusal(spec, `A run may start ${perUserMax} servers, and these connectors need ${needed.length}.`)
  }
  const late = new AbortController()
  const bound = `${perUserMax} servers at a time for an account, and ${limits.processesMax} for all`
  const timer = setTimeout(
    () => late.abort(refusal(spec, `There is no room for its server: the service runs ${bound}. Try again later.`)),
    waitMs,
  )
  try {
    const count = needed.length
    await processes.take(spec.userId, { count, signal: AbortSignal.any([signal, late.signal]) })
  } catch (error) {
    throw signal.aborted ? refusal(spec, 'The run was stopped.') : error
  } finally {
    clearTimeout(timer)
  }
}

/** Opens the connection that a place was taken for. */
export function openConnection(spec: ConnectorSpec, { bounds, signal }: Options): Promise<McpConnection> {
  const { target, userId } = spec
  const onClosed = () => {
    if (target.kind === 'stdio') bounds.processes.give(userId)
  }
  return McpConnection.open(spec, { bounds, signal, onClosed })
}

function refusal({ name }: ConnectorSpec, sentence: string): ConnectorError {
  return new ConnectorError(`Connector "${name}": ${sentence}`)
}
