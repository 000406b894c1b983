import type { Session } from '../../../../client/client.ts'

export function connectorIdsOf({ metadata }: Session): string[] {
  const ids = metadata['connectorIds']
  return Array.isArray(ids) ? ids.filter((id) => typeof id === 'string') : []
}
