/** Invalid command-line options; the message names the option. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}
