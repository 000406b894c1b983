/** Truncates a string to `charsMax` characters and marks the cut with `…`. Never splits a character. */
export function clip(text: string, charsMax: number): string {
  return text.length <= charsMax ? text.toWellFormed() : `${text.slice(0, charsMax).toWellFormed()}…`
}
