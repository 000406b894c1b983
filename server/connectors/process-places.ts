import type { ConnectorBounds } from './connector-bounds.ts'
import { ConnectorError, ConnectorsUnavailableError, type ConnectorSpec, type RenewToken } from './connector-spec.ts'
import { McpConnection } from './thread/mcp-connection.ts'

type Options = { bounds: ConnectorBounds; signal: AbortSignal }

/** Process-wide resources that connections need. Without `renew`, an access token is used until it expires. */
export type ConnectorMeans = { bounds: ConnectorBounds; renew?: RenewToken | undefined }

/**
 * Takes slots for all processes of a run simultaneously. Otherwise, two runs with half of their slots each could wait
 * for each other forever. Each slot is returned when its connection closes. Throws a ConnectorError if the run needs
 * more slots than allowed, and a ConnectorsUnavailableError if not enough slots become free in time, possibly because
 * other users occupy them.
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
    throw refusal(
      spec,
      `A run can start at most ${perUser} servers, but these connectors need ${needed.length}. Select fewer connectors.`,
    )
  }
  const late = new AbortController()
  const bound = `at most ${perUser} servers per account and ${limits.processesMax} in total`
  const full = `The server could not be started, because the service runs ${bound}. Try again later.`
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

/** Opens a connection. The caller must already have taken a slot for it. */
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
