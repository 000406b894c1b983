/** A command that was given options that cannot be meant; the message names the option. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}
