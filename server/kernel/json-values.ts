const [quote, backslash, comma, colon, openBrace, openBracket] = [0x22, 0x5c, 0x2c, 0x3a, 0x7b, 0x5b]

/**
 * Of a name in a JSON text. V8 hashes texts of 16,384 characters and more by their length alone, and compares each name
 * with all others of its hash: a few megabytes of such names take it seconds.
 */
export const jsonNameBytesMax = 16_000

/**
 * Whether a text of JSON holds more values than that, counted by what stands before them, or a name that is too long. A
 * value takes up to a hundred bytes when it is parsed, however short it is written, and a thread whose memory runs out
 * inside JSON.parse cannot be stopped there: it takes the process with it.
 */
export function isHeavyJson(json: Buffer, valuesMax: number): boolean {
  if (json.length <= Math.min(valuesMax, jsonNameBytesMax)) return false
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
    else if (byte === colon && end - start - 1 > jsonNameBytesMax) return true
  }
  return values > valuesMax
}
