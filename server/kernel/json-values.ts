const [quote, backslash, comma, openBrace, openBracket] = [0x22, 0x5c, 0x2c, 0x7b, 0x5b]

/**
 * Whether a text of JSON holds more values than that, counted by what stands before them. A value takes up to a hundred
 * bytes when it is parsed, however short it is written, and a thread whose memory runs out inside JSON.parse cannot be
 * stopped there: it takes the process with it.
 */
export function hasMoreValues(json: Buffer, valuesMax: number): boolean {
  if (json.length <= valuesMax) return false
  let values = 1
  let isInString = false
  for (let at = 0; at < json.length; at++) {
    const byte = json[at]
    if (isInString) {
      if (byte === backslash) at++
      else if (byte === quote) isInString = false
    } else if (byte === quote) isInString = true
    else if (byte === comma || byte === openBrace || byte === openBracket) values++
  }
  return values > valuesMax
}
