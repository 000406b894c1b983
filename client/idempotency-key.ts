import { invalidArgument } from './client-error.ts'

/** A key that nobody else has: 128 random bits. */
export function newIdempotencyKey(): string {
  // Not randomUUID, which browsers withhold from pages that came over plain http.
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return `run_${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`
}

/** Throws INVALID_ARGUMENT for what cannot stand in the Idempotency-Key header. */
export function checkIdempotencyKey(key: unknown): void {
  if (typeof key !== 'string' || !/^[\x21-\x7e]{1,255}$/.test(key)) {
    throw invalidArgument('idempotencyKey', 'Must be 1 to 255 visible ASCII characters')
  }
}
