import { ConnectorError, ConnectorsUnavailableError, type ConnectorSpec, type ProbeOutcome } from '../connector-spec.ts'
import type { ConnectorMeans } from '../process-places.ts'
import type { McpTool } from './mcp-connection.ts'

/** Maximum wait for a process slot. Servers of runs that have just ended take a second or two to exit. */
const waitMs = 5000

export type ConnectorTools = { tools: McpTool[] }

/**
 * Requests the tools of a connector's server. Never throws. If the outcome is `failed`, its message explains in one
 * sentence why the server is unusable.
 */
export async function probeConnector(
  spec: ConnectorSpec,
  options: ConnectorMeans & { signal: AbortSignal },
): Promise<ProbeOutcome> {
  try {
    const { openConnection, takeProcesses } = await import('../process-places.ts')
    await takeProcesses([[spec]], { ...options, waitMs })
    const connection = await openConnection(spec, options)
    try {
      const found: ConnectorTools = { tools: await connection.listTools() }
      return { kind: 'completed', json: JSON.stringify(found) }
    } finally {
      void connection.close()
    }
  } catch (thrown) {
    const isOurs = thrown instanceof ConnectorError || thrown instanceof ConnectorsUnavailableError
    const message = isOurs ? thrown.message : `Connector "${spec.name}": The check failed. Try again.`
    return { kind: 'failed', error: { code: 'AGENT_ERROR', message, details: '' } }
  }
}
