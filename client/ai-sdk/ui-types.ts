import type { ChatUsage } from '../types/client-types.ts'

/** Metadata of a `useChat` message: the `METADATA` type parameter of `UIMessage`. */
export type ErrandMetadata = {
  /** Id of the reply, for resuming or stopping it and for finding its transactions. */
  turnId?: string
  /** Set when the reply ends. */
  usage?: ChatUsage
  /** The amount charged, in USD with four decimals. Set when the reply ends. */
  costUsd?: string
  /** Set if the reply failed after it started. */
  errorCode?: string
}

/** Why a reply failed. `costUsd` is the amount charged despite the failure. */
export type ReplyError = { code: string; message: string; costUsd?: string | undefined }

export type UIStreamOptions = {
  /** Returns the error text that the page receives. Defaults to the error's message. */
  onError?: ((error: ReplyError) => string) | undefined
}

type ToolCall = { toolCallId: string; dynamic: true; providerExecuted: true }

/** Chunks of the `ai` package's UI message stream that a reply can contain. */
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

export type ErrandUIMessage = {
  id: string
  role: 'user' | 'assistant'
  metadata: ErrandMetadata
  parts: ErrandUIPart[]
}

/** A file part. `url` serves the file for one hour. */
export type ErrandUIFile = { type: 'file'; mediaType: string; url: string; filename?: string }

type ErrandUIPart =
  | ErrandUIFile
  | { type: 'text'; text: string; state: 'done' }
  | ({ type: 'dynamic-tool'; toolName: string; toolCallId: string; input: unknown; providerExecuted: true } & (
      | { state: 'output-available'; output: unknown }
      | { state: 'output-error'; errorText: string }
    ))
