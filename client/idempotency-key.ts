import { invalidArgument } from './client-error.ts'

export function newIdempotencyKey(): string {
  // Browsers do not provide `randomUUID` to pages served over plain HTTP.
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return `run_${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`
}

/** Throws INVALID_ARGUMENT unless the value is a valid Idempotency-Key header. */
export function checkIdempotencyKey(key: unknown): void {
  if (typeof key !== 'string' || !/^[\x21-\x7e]{1,255}$/.test(key)) {
    throw invalidArgument('idempotencyKey', 'Must be 1 to 255 visible ASCII characters')
  }
}
