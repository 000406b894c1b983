/**
 * Truncates a string after `charsMax` characters and marks the cut with `…`. The result is always well-formed Unicode.
 */
export function clip(text: string, charsMax: number): string {
  return text.length <= charsMax ? text.toWellFormed() : `${text.slice(0, charsMax).toWellFormed()}…`
}
