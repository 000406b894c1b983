import type { EndEvent } from './reply-end.ts'

export type DeltaKind = 'text' | 'reasoning'

export type DeltaReader = {
  /** Receives JSON-escaped text without its quotes. */
  onDelta: (kind: DeltaKind, literal: string) => void
  onEnd: (event: EndEvent) => void
}

const textLine = '{"type":"assistant_delta"'
const reasoningLine = '{"type":"reasoning_delta"'
const doneLine = '{"type":"done"'
const errorLine = '{"type":"error"'
const deltaField = '"delta":"'

/**
 * Reads lines from the service, which end with the delta field. Forwards the escaped text unchanged, because parsing
 * and serializing each delta took several times as long.
 */
export function readDeltas(lines: string, { onDelta, onEnd }: DeltaReader): void {
  for (let start = 0, end = lines.indexOf('\n'); end !== -1; start = end + 1, end = lines.indexOf('\n', start)) {
    const isText = lines.startsWith(textLine, start)
    if (isText || lines.startsWith(reasoningLine, start)) {
      const from = lines.indexOf(deltaField, start) + deltaField.length
      onDelta(isText ? 'text' : 'reasoning', lines.slice(from, end - 2))
    } else if (lines.startsWith(doneLine, start) || lines.startsWith(errorLine, start)) {
      onEnd(JSON.parse(lines.slice(start, end)) as EndEvent)
    }
  }
}

export function textOf(literals: readonly string[]): string {
  return JSON.parse(`"${literals.join('')}"`) as string
}
