/** Returns the code of a system or database error, such as ENOENT, or an empty string for any other value. */
export function codeOf(thrown: unknown): string {
  return thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : ''
}

export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}
