/** Throws when something that this code relies on does not hold: a defect of ours, never a caller's mistake. */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new Error(`Assertion failed: ${message}`)
}

/** The value, or a throw when it is missing though it must be there. */
export function must<T>(value: T | undefined | null, message: string): T {
  assert(value !== undefined && value !== null, message)
  return value
}

/** Marks a branch that the types say cannot be reached. */
export function unreachable(value: never): never {
  throw new Error(`Unreachable: ${JSON.stringify(value)}`)
}
