import { useSyncExternalStore } from 'react'
import type { AttachedFile } from '../compose/attached-files.ts'
import { storedPrefix, whenLeaving } from '../../../app/leave-console.ts'

// Stores, for each session, this tab's unsent draft and the sent message that the service may not have stored yet. Both
// survive a reload and are deleted when the login ends.

export type ChatParams = { temperature?: number; maxTokens?: number }
export type SentMessage = {
  message: string
  /** Number of earlier messages in the session. */
  total: number
  idempotencyKey: string
  replaces?: string
}
/** `files` are kept only until the page is closed. */
type Draft = { text: string; params: ChatParams; files: readonly AttachedFile[] }

const prefix = `${storedPrefix}chat`
const listeners = new Set<() => void>()
const drafts = new Map<string, Draft>()
const nothing: Draft = { text: '', params: {}, files: [] }
whenLeaving(() => drafts.clear())

export function draftOf(sessionId: string): Draft {
  let draft = drafts.get(sessionId)
  if (!draft) {
    draft = { ...nothing, ...(read(`${prefix}.draft.${sessionId}`) as Partial<Draft> | undefined) }
    drafts.set(sessionId, draft)
  }
  return draft
}

export function changeDraft(sessionId: string, change: Partial<Draft>): void {
  const draft = { ...draftOf(sessionId), ...change }
  drafts.set(sessionId, draft)
  const { text, params } = draft
  const isEmpty = text === '' && Object.keys(params).length === 0
  write(`${prefix}.draft.${sessionId}`, isEmpty ? undefined : { text, params })
  for (const listener of listeners) listener()
}

/**
 * Puts a rejected message back into the composer. Returns false if the user has typed something else in the meantime.
 */
export function putBack(sessionId: string, message: string, files: readonly AttachedFile[] = []): boolean {
  const { files: attached, text } = draftOf(sessionId)
  if ((text !== '' && text !== message) || attached.length > 0) return false
  changeDraft(sessionId, { text: message, files })
  return true
}

export function useDraft(sessionId: string): Draft {
  return useSyncExternalStore(subscribe, () => draftOf(sessionId))
}

export function sentOf(sessionId: string): SentMessage | undefined {
  return read(`${prefix}.sent.${sessionId}`) as SentMessage | undefined
}

export function rememberSent(sessionId: string, sent: SentMessage | undefined): void {
  write(`${prefix}.sent.${sessionId}`, sent)
}

export function forgetSession(sessionId: string): void {
  changeDraft(sessionId, nothing)
  rememberSent(sessionId, undefined)
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function read(name: string): unknown {
  try {
    return JSON.parse(sessionStorage.getItem(name) ?? 'null') ?? undefined
  } catch {
    return undefined
  }
}

function write(name: string, value: unknown): void {
  try {
    if (value === undefined) sessionStorage.removeItem(name)
    else sessionStorage.setItem(name, JSON.stringify(value))
  } catch {
    // Text that is too large for `sessionStorage` stays only in memory.
  }
}
