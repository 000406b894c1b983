import type { ConnectorBounds } from './connector-bounds.ts'
import { ConnectorError, ConnectorsUnavailableError, type ConnectorSpec, type RenewToken } from './connector-spec.ts'
import { McpConnection } from './thread/mcp-connection.ts'

type Options = { bounds: ConnectorBounds; signal: AbortSignal }

/** What connections need of the process that they are in. Without `renew` an access token is used until its end. */
export type ConnectorMeans = { bounds: ConnectorBounds; renew?: RenewToken | undefined }

/**
 * Takes a place for each process that a run needs, all at once: two runs that each had half of theirs would wait for
 * each other. Each is given back when its connection is closed. Throws a ConnectorError when the run may not have so many,
 * and a ConnectorsUnavailableError when there was no room for them in time, which also others may be the cause of.
 */
export async function takeProcesses(
  groups: readonly (readonly ConnectorSpec[])[],
  { bounds, signal, waitMs }: Options & { waitMs: number },
): Promise<void> {
  const needed = groups.flatMap(([first]) => (first?.target.kind === 'stdio' ? [first] : []))
  const [spec] = needed
  if (!spec) return
  const { limits, processes } = bounds
  const { perUser } = processes
  if (needed.length > perUser) {
    throw refusal(spec, `A run may start ${perUser} servers, and these connectors need ${needed.length}.`)
  }
  const late = new AbortController()
  const bound = `${perUser} servers at a time for an account, and ${limits.processesMax} for all`
  const full = `There is no room for its server: the service runs ${bound}. Try again later.`
  const timer = setTimeout(() => late.abort(new ConnectorsUnavailableError(sentenceOf(spec, full))), waitMs)
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
export function openConnection(
  spec: ConnectorSpec,
  { bounds, renew, signal }: Options & ConnectorMeans,
): Promise<McpConnection> {
  const { target, userId } = spec
  const onClosed = () => {
    if (target.kind === 'stdio') bounds.processes.give(userId)
  }
  return McpConnection.open(spec, { bounds, renew, signal, onClosed })
}

function refusal(spec: ConnectorSpec, sentence: string): ConnectorError {
  return new ConnectorError(sentenceOf(spec, sentence))
}

function sentenceOf({ name }: ConnectorSpec, sentence: string): string {
  return `Connector "${name}": ${sentence}`
}
