import type { IncomingMessage } from 'node:http'
import { badField, ErrandError } from '../../kernel/errors.ts'
import { decodeSegment } from '../../kernel/request-url.ts'
import type { UserRef } from '../../store/platform/platform-types.ts'
import { flawOfExternalId } from './external-id.ts'

// The Errand-User header contains a `user_…` id, or `ext:` and the product's own user id. The latter is percent-encoded
// like a path segment, because header values are ASCII.

const field = 'Errand-User'
const external = 'ext:'

/**
 * Returns the user on whose behalf a platform key acts, or undefined without an Errand-User header. Throws 400 for a
 * malformed value.
 */
export function readActingUser({ headers }: IncomingMessage): UserRef | undefined {
  const { 'errand-user': given } = headers
  if (given === undefined) return undefined
  // Node joins repeated headers with commas.
  if (typeof given !== 'string' || given.includes(',')) {
    throw badField(field, 'Must be sent only once. Encode a comma in an external id as %2C')
  }
  if (!/^[\x21-\x7e]{1,2000}$/.test(given)) {
    throw badField(field, 'Must be a user id, or ext: followed by the percent-encoded external id')
  }
  if (!given.startsWith(external)) return { userId: given }
  const externalId = decodeSegment(given.slice(external.length))
  if (externalId === undefined) throw badField(field, 'Must have valid percent-encoding')
  const flaw = flawOfExternalId(externalId)
  if (flaw !== undefined) throw badField(field, flaw)
  return { externalId }
}

export function assertNoActingUser({ headers }: IncomingMessage): void {
  if (headers['errand-user'] === undefined) return
  throw new ErrandError(
    'FORBIDDEN',
    'Only a platform key can act on behalf of other users. Omit the Errand-User header.',
  )
}
