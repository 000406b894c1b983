/** In order of preference when a table is as regular by two of them: commas also stand inside of values. */
const candidates = ['\t', ';', '|', ','] as const
const sampleLength = 65_536

/**
 * The character between a CSV's values: the one that stands in its first row and equally often in the most of the first
 * 64K characters' rows. A table of one column counts as separated by commas.
 */
export function detectDelimiter(csv: string): string {
  const rows = countCandidates(csv.slice(0, sampleLength), csv.length <= sampleLength)
  const [first] = rows
  let best = { delimiter: ',', regularity: 0 }
  for (const [at, delimiter] of candidates.entries()) {
    if (first === undefined || first[at] === 0) continue
    const regularity = rows.filter((counts) => counts[at] === first[at]).length / rows.length
    if (regularity > best.regularity) best = { delimiter, regularity }
  }
  return best.delimiter
}

/** How often each candidate stands in each row outside of quotes; a last row that may be cut off is left out. */
function countCandidates(sample: string, isWhole: boolean): number[][] {
  const rows: number[][] = []
  let counts = candidates.map(() => 0)
  let isQuoted = false
  let isEmpty = true
  for (const character of sample) {
    if (character === '"') isQuoted = !isQuoted
    if (isQuoted) continue
    if (character === '\n' || character === '\r') {
      if (!isEmpty) rows.push(counts)
      counts = candidates.map(() => 0)
      isEmpty = true
      continue
    }
    isEmpty = false
    const at = candidates.findIndex((candidate) => candidate === character)
    if (at >= 0) counts[at]! += 1
  }
  if (!isEmpty && (isWhole || rows.length === 0)) rows.push(counts)
  return rows
}
