import type { ToolCallRecord } from './records.ts'

// What bounds answers and stored messages in bytes. Texts are measured as JSON, in which a control character takes six.

/** Of a page of a list. One item always fits, or what is stored could not be read. */
export const pageBytesMax = 1_048_576
/** Of the text of one message. */
export const messageTextBytesMax = 1_048_576
/** Of the arguments of a tool call, or of its output; of larger ones a preview is kept. */
export const toolValueBytesMax = 16_384
/** Of all tool calls of one message together; those that come after it are not kept. */
export const toolCallsBytesMax = 262_144

/** Of a connector beside the tools that it allows. */
export const connectorFieldsBytes = 4096

const previewCharsMax = 1024

export function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value) ?? '')
}

/** How many items of a page fit, by the bytes of each: at least one of those that there are. */
export function fittingCount(bytes: readonly number[], bytesMax: number): number {
  let left = bytesMax - (bytes[0] ?? 0)
  let count = Math.min(1, bytes.length)
  while (count < bytes.length && bytes[count]! <= left) left -= bytes[count++]!
  return count
}

/** The first items that fit, at least one; no more are taken than that, and one. */
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

/** The beginning of a message's text that is kept, and whether it is less than all of it. */
export function keptText(text: string): { text: string; isCut: boolean } {
  let kept = text
  // No character is less than a byte, so most of a text that is far too long goes before any of it is measured.
  if (kept.length > messageTextBytesMax) kept = kept.slice(0, messageTextBytesMax).toWellFormed()
  for (let bytes = jsonBytes(kept); bytes > messageTextBytesMax; bytes = jsonBytes(kept)) {
    kept = kept.slice(0, Math.floor((kept.length * messageTextBytesMax) / bytes) - 1).toWellFormed()
  }
  return { text: kept, isCut: kept.length < text.length }
}

type KeptObject = { value: Record<string, unknown>; bytes?: number }

/** An object that a tool was given or answered, by its JSON: itself, or a preview of it with the bytes of the whole. */
export function keptObject(json: string): KeptObject {
  const bytes = Buffer.byteLength(json)
  if (bytes <= toolValueBytesMax) return { value: JSON.parse(json) as Record<string, unknown> }
  return { value: { preview: json.slice(0, previewCharsMax).toWellFormed() }, bytes }
}

/** The tool calls of a message as their JSON is kept; null without any. */
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
