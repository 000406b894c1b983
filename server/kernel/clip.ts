/** Truncates a string to `charsMax` characters and appends `…`. Never splits a surrogate pair. */
export function clip(text: string, charsMax: number): string {
  return text.length <= charsMax ? text.toWellFormed() : `${text.slice(0, charsMax).toWellFormed()}…`
}
