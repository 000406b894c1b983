/** A text of so many characters at most, whose end is marked where more was cut off; no character is cut in half. */
export function clip(text: string, charsMax: number): string {
  return text.length <= charsMax ? text.toWellFormed() : `${text.slice(0, charsMax).toWellFormed()}…`
}
