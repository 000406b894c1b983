/** Thrown for invalid command-line options. The message names the option. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}
