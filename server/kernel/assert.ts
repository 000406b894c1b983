/** A failed assertion always means a bug in the service, never a caller's mistake. */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new Error(`Assertion failed: ${message}`)
}

export function must<T>(value: T | undefined | null, message: string): T {
  assert(value !== undefined && value !== null, message)
  return value
}

export function unreachable(value: never): never {
  throw new Error(`Unreachable: ${JSON.stringify(value)}`)
}
