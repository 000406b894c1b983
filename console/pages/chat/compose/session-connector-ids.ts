import type { Session } from '../../../../client/client.ts'

/** Reads the connectors of a session from its metadata. */
export function connectorIdsOf({ metadata }: Session): string[] {
  const ids = metadata['connectorIds']
  return Array.isArray(ids) ? ids.filter((id) => typeof id === 'string') : []
}
