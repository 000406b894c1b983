import type { ChatUsage } from '../types/client-types.ts'

/** What a message of `useChat` knows beyond its parts: the `METADATA` of `UIMessage`. */
export type ErrandMetadata = {
  /** By which the reply is read again or stopped, and found in the transactions. */
  turnId?: string
  /** At its end. */
  usage?: ChatUsage
  /** At its end: what was charged, in USD with four fraction digits. */
  costUsd?: string
  /** Of a reply that failed after its start. */
  errorCode?: string
}

/** Why a reply failed; `costUsd` is what was charged all the same. */
export type ReplyError = { code: string; message: string; costUsd?: string | undefined }

export type UIStreamOptions = {
  /** The text that the page gets of an error; its message when left out. */
  onError?: ((error: ReplyError) => string) | undefined
}

type ToolCall = { toolCallId: string; dynamic: true; providerExecuted: true }

/** Those chunks of the UI message stream of `ai` that a reply becomes. */
export type ErrandUIMessageChunk =
  | { type: 'start'; messageId?: string; messageMetadata: ErrandMetadata }
  | { type: 'text-start'; id: string }
  | { type: 'text-delta'; id: string; delta: string }
  | { type: 'text-end'; id: string }
  | { type: 'reasoning-start'; id: string }
  | { type: 'reasoning-delta'; id: string; delta: string }
  | { type: 'reasoning-end'; id: string }
  | (ToolCall & { type: 'tool-input-available'; toolName: string; input: Record<string, unknown> })
  | (ToolCall & { type: 'tool-output-available'; output: Record<string, unknown> })
  | { type: 'message-metadata'; messageMetadata: ErrandMetadata }
  | { type: 'error'; errorText: string }
  | { type: 'abort'; reason: string }
  | { type: 'finish'; finishReason: 'stop' | 'length' | 'content-filter'; messageMetadata: ErrandMetadata }

/** A message as `useChat` has it. */
export type ErrandUIMessage = {
  id: string
  role: 'user' | 'assistant'
  metadata: ErrandMetadata
  parts: ErrandUIPart[]
}

/** Its link serves the file for an hour. */
export type ErrandUIFile = { type: 'file'; mediaType: string; url: string; filename?: string }

type ErrandUIPart =
  | ErrandUIFile
  | { type: 'text'; text: string; state: 'done' }
  | ({ type: 'dynamic-tool'; toolName: string; toolCallId: string; input: unknown; providerExecuted: true } & (
      | { state: 'output-available'; output: unknown }
      | { state: 'output-error'; errorText: string }
    ))
