import type { Tags } from '../tasks/task-types.ts'
import type { EpochMs } from '../../kernel/clock.ts'
import {
  jsonBytes,
  keptObject,
  keptText,
  keptToolCalls,
  messageTextBytesMax,
  takeFitting,
  toolCallsBytesMax,
} from '../byte-bounds.ts'
import { emptySessionsMax, keyedSessionsMax, sessionsMax } from '../limits/account-bounds.ts'
import type {
  CreateSessionResult,
  History,
  ListSessions,
  SessionStatus,
  ToolCallRecord,
  MessageRecord,
  SessionListItem,
  MessagePart,
  MessageFile,
  SessionRecord,
} from './session-types.ts'
import type { SessionRow } from '../tables/work-tables.ts'

export const historyExchangesMax = 1000
/** Approximate size of a message on a page, excluding its text, parts and tool calls. */
const messageFieldsBytes = 400

export type SessionTotal = { agentId: string; open: number; completed: number }

/**
 * Returns a refusal if the user may not create another session. `empty` excludes sessions just deleted to make room.
 */
export function judgeSession(has: {
  totals: readonly SessionTotal[]
  empty: number
  keyed: number
}): Extract<CreateSessionResult, { outcome: 'refused' }> | undefined {
  const refused = (reason: 'too-many' | 'too-many-empty' | 'too-many-keyed') =>
    ({ outcome: 'refused', reason }) as const
  if (has.empty >= emptySessionsMax) return refused('too-many-empty')
  if (has.keyed >= keyedSessionsMax) return refused('too-many-keyed')
  return sum(has.totals, ({ completed, open }) => open + completed) >= sessionsMax ? refused('too-many') : undefined
}

/**
 * Returns the total number of sessions in a list. `active` is the number of the user's active sessions, or of those
 * with one agent if the list is filtered by agent.
 */
export function sessionTotal(
  totals: readonly SessionTotal[],
  { active, agentId, status }: Pick<ListSessions, 'agentId' | 'status'> & { active: number },
): number {
  const asked = totals.filter((total) => agentId === undefined || total.agentId === agentId)
  if (status === 'active') return active
  if (status === 'completed') return sum(asked, ({ completed }) => completed)
  const open = sum(asked, (total) => total.open)
  // On PostgreSQL, the two reads may see different states. A session that is created between them is active but missing
  // from the totals.
  return status === 'expired' ? Math.max(0, open - active) : open + sum(asked, ({ completed }) => completed)
}

function sum(totals: readonly SessionTotal[], of: (total: SessionTotal) => number): number {
  return totals.reduce((all, total) => all + of(total), 0)
}

type Activity = Pick<SessionRow, 'activeAt' | 'isCompleted' | 'openTurnId'>

export function sessionStatus({ activeAt, isCompleted, openTurnId }: Activity, activeAfter: EpochMs): SessionStatus {
  if (isCompleted === 1) return 'completed'
  if (openTurnId !== null) return 'active'
  return activeAt <= activeAfter ? 'expired' : 'active'
}

export function sessionRecord(row: SessionRow, activeAfter: EpochMs): SessionRecord {
  const { agentId, continues, createdAt, id, maxCost, messageCount, metadata, spent, title, updatedAt, userId } = row
  const parsed = JSON.parse(metadata) as Record<string, unknown>
  const status = sessionStatus(row, activeAfter)
  const tags = tagsOf(row)
  const texts = { metadata: parsed, tags, title, continues }
  return { id, userId, agentId, status, ...texts, messageCount, maxCost, spent, createdAt, updatedAt }
}

/** `madeAt` is the creation time. `createdAt` is the list's sort key: the time of creation or last use. */
export type ListRow = Omit<SessionRow, 'metadata' | 'updatedAt'> & { madeAt: EpochMs; seq: number }

export function sessionListItem(row: ListRow, activeAfter: EpochMs): SessionListItem {
  const { activeAt, agentId, id, madeAt: createdAt, messageCount, openTurnId, title, userId } = row
  const status = sessionStatus(row, activeAfter)
  const isReplying = openTurnId !== null
  const times = { createdAt, updatedAt: activeAt }
  return { id, userId, agentId, status, tags: tagsOf(row), title, isReplying, messageCount, ...times }
}

function tagsOf({ tags }: Pick<SessionRow, 'tags'>): Tags | null {
  return tags === null ? null : (JSON.parse(tags) as Tags)
}

export const messageColumns = 'id turnId role content parts toolCalls isTruncated replaces createdAt'
export type MessageRow = Omit<MessageRecord, 'parts' | 'toolCalls' | 'isTruncated'> & {
  parts: string | null
  toolCalls: string | null
  isTruncated: number
}

export function messagePage(rows: Iterable<MessageRow>, bytesMax: number): MessageRecord[] {
  const bytesOf = ({ contentBytes, row }: Measured) =>
    messageFieldsBytes + contentBytes + partsBytes(row.parts, contentBytes) + Buffer.byteLength(row.toolCalls ?? '')
  return takeFitting(measured(rows), { bytesMax, bytesOf }).map(messageRecord)
}

/**
 * A message and the JSON size of its text. The size is measured only once, because measuring a megabyte takes
 * milliseconds.
 */
type Measured = { row: MessageRow; contentBytes: number }

function* measured(rows: Iterable<MessageRow>): Iterable<Measured> {
  for (const row of rows) yield { row, contentBytes: jsonBytes(row.content) }
}

function messageRecord({ contentBytes, row: { isTruncated, parts, toolCalls, ...row } }: Measured): MessageRecord {
  const isWhole = contentBytes <= messageTextBytesMax
  const content = isWhole ? { text: row.content, isCut: false } : keptText(row.content)
  return {
    ...row,
    content: content.text,
    parts: readParts(content.text, parts),
    toolCalls: toolCalls === null ? [] : readToolCalls(toolCalls),
    isTruncated: isTruncated === 1 || content.isCut,
  }
}

/** Applies the current size bound, because older messages were stored without one. */
function readToolCalls(json: string): ToolCallRecord[] {
  const calls = JSON.parse(json) as ToolCallRecord[]
  if (Buffer.byteLength(json) <= toolCallsBytesMax) return calls
  const shortened = calls.map((call) => {
    const { bytes: argumentsBytes, value: given } = keptObject(JSON.stringify(call.arguments))
    const output = call.output && keptObject(JSON.stringify(call.output))
    return {
      ...call,
      arguments: given,
      ...(argumentsBytes !== undefined && { argumentsBytes }),
      output: output && output.value,
      ...(output?.bytes !== undefined && { outputBytes: output.bytes }),
    }
  })
  return JSON.parse(keptToolCalls(shortened) ?? '[]') as ToolCallRecord[]
}

// Messages with several parts. The content joins the text parts, so that clients without support for parts can read it.
// The `parts` column adds only the files and the length of each text part.

export const textsBetween = '\n'

/** A stored part: either a file, or the length of the text in UTF-16 code units. */
type KeptPart = { chars: number } | MessageFile

/** Bytes that a file part adds to a response, mainly for its link, beyond its stored size. */
const partFieldsBytes = 500

export function contentOf(parts: readonly MessagePart[]): string {
  return parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join(textsBetween)
}

export function filesOf(parts: readonly MessagePart[] | null | undefined): Extract<MessagePart, { type: 'file' }>[] {
  return parts?.filter((part) => part.type === 'file') ?? []
}

export function keptParts(parts: readonly MessagePart[]): string {
  const kept = parts.map((part): KeptPart => {
    if (part.type === 'text') return { chars: part.text.length }
    const { bytes, filename, mediaType, payloadId, tokens, tokensMax } = part
    return { payloadId, mediaType, ...(filename !== undefined && { filename }), bytes, tokens, tokensMax }
  })
  return JSON.stringify(kept)
}

export function readParts(content: string, kept: string | null): MessagePart[] | null {
  if (kept === null) return null
  let at = 0
  return (JSON.parse(kept) as KeptPart[]).map((part) => {
    if (!('chars' in part)) return { type: 'file', ...part }
    const text = content.slice(at, at + part.chars)
    at += part.chars + textsBetween.length
    return { type: 'text', text }
  })
}

/** Returns the maximum size that parts add to a response: a second copy of the text, and the files. */
export function partsBytes(kept: string | null, contentBytes: number): number {
  if (kept === null) return 0
  return contentBytes + Buffer.byteLength(kept) + (kept.split('{').length - 1) * partFieldsBytes
}

/**
 * Merges metadata key by key. Null removes a key. Uses a Map, because keys such as `__proto__` are special in objects.
 */
export function mergeMetadata(own: string, changes: Record<string, unknown>): string {
  const merged = new Map(Object.entries(JSON.parse(own) as Record<string, unknown>))
  for (const [key, value] of Object.entries(changes)) {
    if (value === null) merged.delete(key)
    else merged.set(key, value)
  }
  return JSON.stringify(Object.fromEntries(merged))
}

export type NewestRow = Pick<MessageRow, 'turnId' | 'content' | 'parts' | 'replaces'> & { tokens: number }

/** Builds a history from a session's messages, which must be added newest first. */
export class HistoryBuilder {
  readonly #tokensMax: number
  readonly #kept: Omit<History, 'cachedAt'> = { messages: [], tokens: 0 }
  #reply: NewestRow | undefined
  #exchanges = 0
  #replaced: string | null
  isFull = false

  constructor({ replaces, tokensMax }: { replaces: string | null; tokensMax: number }) {
    this.#replaced = replaces
    this.#tokensMax = tokensMax
  }

  /** Returns false when nothing more fits. */
  add(row: NewestRow): boolean {
    this.isFull = !this.#add(row)
    return !this.isFull
  }

  #add(row: NewestRow): boolean {
    // Messages are added newest first, so a reply comes before its message.
    if (!this.#reply) {
      this.#reply = row
      return true
    }
    const { content, tokens: replyTokens } = this.#reply
    this.#reply = undefined
    if (++this.#exchanges > historyExchangesMax) return false
    const isReplaced = row.turnId === this.#replaced
    this.#replaced = row.replaces
    if (isReplaced) return true
    // Skip a reply that was cut off before its first word. The model cannot continue from an empty reply.
    if (content === '') return true
    const tokens = replyTokens + row.tokens
    if (this.#kept.tokens + tokens > this.#tokensMax) return false
    this.#kept.tokens += tokens
    const parts = readParts(row.content, row.parts)
    this.#kept.messages.push({ role: 'assistant', content, parts: null }, { role: 'user', content: row.content, parts })
    return true
  }

  get history(): Omit<History, 'cachedAt'> {
    return { messages: this.#kept.messages.toReversed(), tokens: this.#kept.tokens }
  }
}
