/**
 * Maximum number of occurrences of `/Page` to inspect, which bounds the work on malicious files. No model's context can
 * hold this many pages.
 */
const namesMax = 10_000
const name = Buffer.from('/Page')
const type = '/Type'
const gapBytesMax = 16

/**
 * Counts the page objects in the uncompressed parts of a PDF. Returns 0 if all of them are in compressed streams. The
 * count is only an estimate, because the file's author decides which parts are compressed.
 */
export function countPages(content: Buffer): number {
  let pages = 0
  let at = content.indexOf(name)
  for (let names = 0; at >= 0 && names < namesMax; names++) {
    const end = at + name.length
    if (!isLetter(content[end]) && isTypeBefore(content, at)) pages++
    at = content.indexOf(name, end)
  }
  return pages
}

function isTypeBefore(content: Buffer, at: number): boolean {
  const before = content.toString('latin1', Math.max(0, at - type.length - gapBytesMax), at)
  return before.trimEnd().endsWith(type)
}

function isLetter(byte: number | undefined): boolean {
  return byte !== undefined && /[A-Za-z]/.test(String.fromCharCode(byte))
}
