import type { IncomingMessage } from 'node:http'
import { badField } from '../kernel/errors.ts'

export function readIdempotencyKey({ headers }: IncomingMessage): string | null {
  const { 'idempotency-key': key = null } = headers
  return key === null ? null : checkIdempotencyKey(key, 'Idempotency-Key')
}

export function checkIdempotencyKey(key: unknown, field: string): string {
  if (typeof key === 'string' && /^[\x21-\x7e]{1,255}$/.test(key)) return key
  throw badField(field, 'Must be 1 to 255 visible ASCII characters')
}
