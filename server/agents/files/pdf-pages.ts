/** Bounds the work on a file that only names pages, and is more than any context holds. */
const namesMax = 10_000
const name = Buffer.from('/Page')
const type = '/Type'
/** Between `/Type` and `/Page`. */
const gapBytesMax = 16

/**
 * Counts the page objects that a PDF shows in plain bytes; 0 if they are in compressed streams. Only an estimate: whoever
 * made the file chooses what it shows.
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

/** Tells `/Page` from `/Pages` and `/PageMode`. */
function isLetter(byte: number | undefined): boolean {
  return byte !== undefined && /[A-Za-z]/.test(String.fromCharCode(byte))
}
