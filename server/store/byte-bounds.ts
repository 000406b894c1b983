import type { ToolCallRecord } from './sessions/session-types.ts'

// Bounds on the size of responses and stored messages. A string's size includes JSON escapes: a control character takes
// six bytes.

/**
 * Maximum size of a list page. The first item is always included, so that even an item larger than this can be read.
 */
export const pageBytesMax = 1_048_576
export const messageTextBytesMax = 1_048_576
/** Maximum size of a tool call's arguments or output. A larger value is stored only as a preview. */
export const toolValueBytesMax = 16_384
/** Maximum total size of a message's tool calls. Further tool calls are not stored. */
export const toolCallsBytesMax = 262_144

/** Maximum size of a connector on a list page, excluding its list of allowed tools. */
export const connectorFieldsBytes = 4096

const previewCharsMax = 1024
const charBytesMax = 6

export function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value) ?? '')
}

/** Returns how many items fit on a page, but at least 1 if there are any. */
export function fittingCount(bytes: readonly number[], bytesMax: number): number {
  let left = bytesMax - (bytes[0] ?? 0)
  let count = Math.min(1, bytes.length)
  while (count < bytes.length && bytes[count]! <= left) left -= bytes[count++]!
  return count
}

/** Returns as many items as fit in `bytesMax`, but at least one. Reads at most one item more than it returns. */
export function takeFitting<Item>(
  items: Iterable<Item>,
  { bytesMax, bytesOf }: { bytesMax: number; bytesOf: (item: Item) => number },
): Item[] {
  const taken: Item[] = []
  let left = bytesMax
  for (const item of items) {
    left -= bytesOf(item)
    if (left < 0 && taken.length > 0) break
    taken.push(item)
  }
  return taken
}

/** Truncates a message's text to `messageTextBytesMax`. `isCut` is true if anything was removed. */
export function keptText(text: string): { text: string; isCut: boolean } {
  if (text.length * charBytesMax <= messageTextBytesMax) return { text, isCut: false }
  let kept = text
  // Every character takes at least one byte, so cut an oversized text before measuring it.
  if (kept.length > messageTextBytesMax) kept = kept.slice(0, messageTextBytesMax).toWellFormed()
  for (let bytes = jsonBytes(kept); bytes > messageTextBytesMax; bytes = jsonBytes(kept)) {
    kept = kept.slice(0, Math.floor((kept.length * messageTextBytesMax) / bytes) - 1).toWellFormed()
  }
  return { text: kept, isCut: kept.length < text.length }
}

type KeptObject = { value: Record<string, unknown>; bytes?: number }

/**
 * Parses a tool call's arguments or output for storage. A value larger than `toolValueBytesMax` becomes a preview with
 * the size of the full JSON.
 */
export function keptObject(json: string): KeptObject {
  const bytes = Buffer.byteLength(json)
  if (bytes <= toolValueBytesMax) return { value: JSON.parse(json) as Record<string, unknown> }
  return { value: { preview: json.slice(0, previewCharsMax).toWellFormed() }, bytes }
}

export function keptToolCalls(calls: readonly ToolCallRecord[]): string | null {
  const kept: string[] = []
  let left = toolCallsBytesMax
  for (const call of calls) {
    const json = JSON.stringify(call)
    left -= Buffer.byteLength(json) + 1
    if (left < 0) break
    kept.push(json)
  }
  return kept.length === 0 ? null : `[${kept.join(',')}]`
}
