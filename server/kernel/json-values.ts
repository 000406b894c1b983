const [quote, backslash, comma, colon, openBrace, openBracket] = [0x22, 0x5c, 0x2c, 0x3a, 0x7b, 0x5b]

/**
 * Maximum length of a property name in JSON. V8 hashes strings of 16,384 characters or more by their length alone. Long
 * names of the same length therefore collide and are compared one by one, so a few megabytes of them take seconds to
 * parse.
 */
export const jsonNameBytesMax = 16_000

/**
 * Returns a description of the limit that the JSON exceeds, or undefined if it exceeds none. Checks the length of each
 * name, and counts commas and opening brackets to limit the number of values. A parsed value takes up to a hundred
 * bytes, even if its JSON is a single character. A thread that runs out of memory inside JSON.parse cannot be stopped
 * and ends the process.
 */
export function heavinessOf(json: Buffer, valuesMax: number): string | undefined {
  if (json.length <= Math.min(valuesMax, jsonNameBytesMax)) return undefined
  let values = 1
  let isInString = false
  let start = 0
  let end = 0
  for (let at = 0; at < json.length; at++) {
    const byte = json[at]
    if (isInString) {
      if (byte === backslash) at++
      else if (byte === quote) {
        isInString = false
        end = at
      }
    } else if (byte === quote) {
      isInString = true
      start = at
    } else if (byte === comma || byte === openBrace || byte === openBracket) values++
    else if (byte === colon && end - start - 1 > jsonNameBytesMax)
      return `a name of more than ${jsonNameBytesMax} bytes`
  }
  return values > valuesMax ? `more than ${valuesMax} values` : undefined
}
