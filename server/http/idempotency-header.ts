import type { IncomingMessage } from 'node:http'
import { badField } from '../kernel/errors.ts'

/** The Idempotency-Key of a request, null when it names none; throws 400 when it cannot be one. */
export function readIdempotencyKey(request: IncomingMessage): string | null {
  const key = request.headers['idempotency-key']
  if (key === undefined) return null
  if (typeof key !== 'string' || !/^[\x21-\x7e]{1,255}$/.test(key)) {
    throw badField('Idempotency-Key', 'Must be 1 to 255 visible ASCII characters')
  }
  return key
}
