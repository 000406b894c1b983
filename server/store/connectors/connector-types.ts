import type { EpochMs } from '../../kernel/clock.ts'

export const connectorAuthTypes = ['none', 'bearer', 'headers', 'oauth'] as const
export type ConnectorAuthType = (typeof connectorAuthTypes)[number]

export const connectorStatuses = ['untested', 'ok', 'failed', 'needs_sign_in'] as const
export type ConnectorStatus = (typeof connectorStatuses)[number]

export type ConnectorOf = { userId: string; connectorId: string }

/** A user's connection to an MCP server, either at `url` or configured by the operator under the id `server`. */
export type ConnectorRecord = {
  id: string
  userId: string
  name: string
  url: string | null
  server: string | null
  authType: ConnectorAuthType
  sealed: string | null
  /** Tools that agents may call, or null for all. */
  allowedTools: string[] | null
  /** An `oauth` connector without tokens has the status `needs_sign_in`. */
  status: ConnectorStatus
  statusMessage: string | null
  checkedAt: EpochMs | null
  createdAt: EpochMs
  updatedAt: EpochMs
}
