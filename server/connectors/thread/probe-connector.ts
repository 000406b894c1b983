import type { ErrorDetail } from '../../kernel/errors.ts'
import {
  ConnectorError,
  ConnectorsUnavailableError,
  type ProbeOutcome,
  type ProbeRequest,
  type ToolCall,
} from '../connector-spec.ts'
import type { ConnectorMeans } from '../process-places.ts'
import type { ToolAnswer } from '../tool-types.ts'
import { checkArguments } from './check-arguments.ts'
import type { McpConnection, McpTool } from './mcp-connection.ts'

/** Maximum wait for a process slot. Servers of runs that have just ended take a second or two to exit. */
const waitMs = 5000

export type ConnectorTools = { tools: McpTool[] }
/** `details` describes the invalid input of a call that was not made. */
export type CallResult = { answer: ToolAnswer } | { details: ErrorDetail[] }

/**
 * Requests the list of tools from a connector's server, or calls one of them. Never throws. If the outcome is `failed`,
 * its message explains in one sentence why the server is unusable.
 */
export async function probeConnector(
  { call, spec }: ProbeRequest,
  options: ConnectorMeans & { signal: AbortSignal },
): Promise<ProbeOutcome> {
  try {
    const { openConnection, takeProcesses } = await import('../process-places.ts')
    await takeProcesses([[spec]], { ...options, waitMs })
    const connection = await openConnection(spec, options)
    try {
      const tools = await connection.listTools()
      const found: ConnectorTools | CallResult = call ? await callTool(connection, { call, tools }) : { tools }
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

type CallTool = { call: ToolCall; tools: readonly McpTool[] }

async function callTool(connection: McpConnection, { call, tools }: CallTool): Promise<CallResult> {
  const tool = tools.find(({ name }) => name === call.tool)
  if (!tool) {
    const message = 'Must be a tool of the server. GET /api/connectors/{connectorId}/tools lists them'
    return { details: [{ path: 'tool', message }] }
  }
  const args = JSON.parse(call.args) as Record<string, unknown>
  const details = checkArguments(tool.inputSchema, args)
  return details.length > 0 ? { details } : { answer: await connection.call(tool.name, args) }
}
