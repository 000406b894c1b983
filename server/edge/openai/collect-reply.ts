import type { TurnReader } from '../../chat/events/turn-feed.ts'
import type { OpenaiParts } from './openai-parts.ts'
import { readDeltas, textOf, type DeltaKind } from './event-deltas.ts'
import { endOf, type EndEvent, type ReplyEnd } from './reply-end.ts'

export type ReplyPart = { kind: DeltaKind; text: string }
export type WholeReply = { parts: ReplyPart[]; text: string; reasoning: string; end: ReplyEnd }

export async function collectReply(
  { next, turnId }: Pick<TurnReader, 'next' | 'turnId'>,
  of: { userId: string } & Pick<OpenaiParts, 'store'>,
): Promise<WholeReply | undefined> {
  const found: { kind: DeltaKind; literals: string[] }[] = []
  const ends: EndEvent[] = []
  const onDelta = (kind: DeltaKind, literal: string) => {
    const last = found.at(-1)
    if (last?.kind === kind) last.literals.push(literal)
    else found.push({ kind, literals: [literal] })
  }
  const onEnd = (event: EndEvent) => ends.push(event)
  for (let lines = await next(); lines !== undefined; lines = await next()) readDeltas(lines, { onDelta, onEnd })
  const [event] = ends
  if (!event) return undefined
  const parts = found.map(({ kind, literals }) => ({ kind, text: textOf(literals) }))
  const text = joined(parts, 'text')
  const end = await endOf(event, { ...of, turnId, hasText: text !== '' })
  return { parts, text, reasoning: joined(parts, 'reasoning'), end }
}

function joined(parts: readonly ReplyPart[], kind: DeltaKind): string {
  return parts
    .filter((part) => part.kind === kind)
    .map(({ text }) => text)
    .join('')
}
