/** Formats a table as oxfmt does, which pads each column to its widest cell. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, ...rows].map((cells) => cells.map((cell) => cell.replaceAll('|', String.raw`\|`)))
  const widths = head.map((_, column) => Math.max(3, ...lines.map((cells) => cells[column]!.length)))
  const line = (cells: readonly string[], fill = ' ') =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column]!, fill)).join(' | ')} |`
  const [first, ...rest] = lines
  return [
    line(first!),
    line(
      Array.from(head, () => ''),
      '-',
    ),
    ...rest.map((cells) => line(cells)),
  ].join('\n')
}
