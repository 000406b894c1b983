import type { IncomingMessage } from 'node:http'
import { badField, ErrandError } from '../../kernel/errors.ts'
import { decodeSegment } from '../../kernel/request-url.ts'
import type { UserRef } from '../../store/platform/platform-records.ts'
import { flawOfExternalId } from './external-id.ts'

// Value of Errand-User: user_…, or ext: and the product's own id of the user. The id is percent-encoded as in a path,
// because a header is ASCII only.

const field = 'Errand-User'
const external = 'ext:'

/** User that a platform key acts for; undefined if the request names none. Throws 400 for a malformed value. */
export function readActingUser({ headers }: IncomingMessage): UserRef | undefined {
  const { 'errand-user': given } = headers
  if (given === undefined) return undefined
  // Node joins repeated headers with commas.
  if (typeof given !== 'string' || given.includes(',')) {
    throw badField(field, 'Must be given once; a comma of an external id is written as %2C')
  }
  if (!/^[\x21-\x7e]{1,2000}$/.test(given)) {
    throw badField(field, 'Must be the id of a user, or ext: and an external id that is percent-encoded, as in a path')
  }
  if (!given.startsWith(external)) return { userId: given }
  const externalId = decodeSegment(given.slice(external.length))
  if (externalId === undefined) throw badField(field, 'The percent-encoding is broken')
  const flaw = flawOfExternalId(externalId)
  if (flaw !== undefined) throw badField(field, flaw)
  return { externalId }
}

/** Throws 403 if a credential other than a platform key names a user to act for. */
export function assertNoActingUser({ headers }: IncomingMessage): void {
  if (headers['errand-user'] === undefined) return
  throw new ErrandError('FORBIDDEN', 'Only a platform key acts for other users; leave out the header Errand-User.')
}
