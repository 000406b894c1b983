import type { MessagePort } from 'node:worker_threads'
import type { ProjectModules } from '../config/project-modules.ts'
import type { ChatBatch, ChatRequest, StepRequest } from '../run/chat-messages.ts'
import type { RunOutcome, TaskRequest } from '../run/run-outcome.ts'

// Messages between the host and an agent thread. Messages of one tick are sent together in an array.

/** `run` increases by one per thread, so that `started` below shows which runs the thread has started. */
export type ToThread =
  | { type: 'run'; run: number; request: TaskRequest }
  | { type: 'chat'; run: number; request: ChatRequest }
  | { type: 'count'; run: number; text: string }
  | { type: 'connectors'; port: MessagePort }
  /** The client of a chat has read this many characters. */
  | { type: 'credit'; run: number; chars: number }
  /** Answers the hold request with this serial: its cost is held, and a model call may write this many tokens. */
  | { type: 'held'; run: number; serial: number; tokens: number }
  | { type: 'cancel-forbidden'; run: number }
  /** Aborts the run's signal. For a chat, `readOnMs` is how long to keep reading an open model call for its usage. */
  | { type: 'abort'; run: number; readOnMs?: number }

export type FromThread =
  | { type: 'ready' }
  | { type: 'unusable'; message: string }
  | { type: 'batches'; run: number; batches: ChatBatch[] }
  /** A chat with files has started. */
  | { type: 'received'; run: number }
  /** A chat requests a hold for a model or tool call and waits for it. */
  | { type: 'step'; run: number; request: StepRequest }
  /** A task is about to call a connector or has charged an event. It waits until the host forbids cancels. */
  | { type: 'forbid-cancel'; run: number }
  | { type: 'waiting'; run: number; isWaiting: boolean }
  | { type: 'progress'; run: number; json: string }
  | { type: 'ended'; run: number; outcome: RunOutcome | 'not-begun' }
  /** A run continues although it was stopped. */
  | { type: 'overstayed' }
  | { type: 'connect' }
  | { type: 'log'; runId: string; message: string; fields?: Record<string, unknown> }

export type ThreadData = {
  configFile: string
  /** Modules of the configuration. Undefined to read them from disk. */
  modules: ProjectModules | undefined
  replyBytesMax: number
  resultBytesMax: number
  pulse: SharedArrayBuffer
}

/**
 * Offsets in memory that host and thread share, because a blocked thread can neither send nor receive messages. `beats`
 * counts heartbeats of the thread's event loop. `started` is the last run that the thread started. `takenTo` is the
 * last run that the host has taken back unstarted.
 *
 * A thread writes `started` and then reads `takenTo`. The host writes `takenTo` and then reads `started`. So a run is
 * never both executed by this thread and moved to another one. If each side sees the other's write, the thread skips
 * the run and reports it.
 */
export const pulseAt = { beats: 0, started: 1, takenTo: 2 } as const
export const pulseBytes = 12
export const beatMs = 200
