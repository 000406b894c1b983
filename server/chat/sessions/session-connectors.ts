import { z } from 'zod'
import { badField } from '../../kernel/errors.ts'
import { resourceId } from '../../kernel/wire-types.ts'

/** Metadata key of the connector ids that a session's chats can use. */
export const connectorIdsKey = 'connectorIds'

export const ConnectorIds = z
  .array(resourceId)
  .max(20)
  .describe(
    'Ids of the connectors that the agent can use. They are stored in the metadata, where an update can change them',
  )

/** Returns the connector ids in the metadata, or an empty array. Throws 400 if the value is not an array of ids. */
export function connectorIdsOf(metadata: Readonly<Record<string, unknown>>): string[] {
  const value = Object.hasOwn(metadata, connectorIdsKey) ? metadata[connectorIdsKey] : null
  if (value === null) return []
  const parsed = ConnectorIds.safeParse(value)
  if (!parsed.success) throw badField(`metadata.${connectorIdsKey}`, 'Must be an array of at most 20 connector ids')
  return parsed.data
}
