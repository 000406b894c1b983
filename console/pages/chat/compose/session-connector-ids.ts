import type { Session } from '../../../../client/client.ts'

/** A session stores its connectors in its metadata. */
export function connectorIdsOf({ metadata }: Session): string[] {
  const ids = metadata['connectorIds']
  return Array.isArray(ids) ? ids.filter((id) => typeof id === 'string') : []
}
