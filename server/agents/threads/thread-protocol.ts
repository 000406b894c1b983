import type { MessagePort } from 'node:worker_threads'
import type { ChatBatch, ChatRequest, StepRequest } from '../run/chat-messages.ts'
import type { RunOutcome, TaskRequest } from '../run/run-outcome.ts'

// The messages between the host and an agent thread. Messages of one tick go together, in an array.

/** `run` counts up by one per thread, so `started` below tells which runs the thread has begun. */
export type ToThread =
  | { type: 'run'; run: number; request: TaskRequest }
  | { type: 'chat'; run: number; request: ChatRequest }
  /** Asks for the tokens of a text. */
  | { type: 'count'; run: number; text: string }
  /** A port to the thread of connectors. */
  | { type: 'connectors'; port: MessagePort }
  /** The reader of a chat has taken so much of what was sent. */
  | { type: 'credit'; run: number; chars: number }
  /** What a chat asked for by that serial is held: a call of a model may write so many tokens. */
  | { type: 'held'; run: number; serial: number; tokens: number }
  /** The task of the run can no longer be canceled. */
  | { type: 'cancel-forbidden'; run: number }
  /** The run's signal fires; of a chat with how long an open model call is read for its usage. */
  | { type: 'abort'; run: number; readOnMs?: number }

export type FromThread =
  | { type: 'ready' }
  | { type: 'unusable'; message: string }
  | { type: 'batches'; run: number; batches: ChatBatch[] }
  /** A chat that came with files has begun. */
  | { type: 'received'; run: number }
  /** A chat asks for a call of a model to be held; it waits for that. */
  | { type: 'step'; run: number; request: StepRequest }
  /** A task is about to call a connector, or has charged an event, and waits until it can no longer be canceled. */
  | { type: 'forbid-cancel'; run: number }
  /** A task begins to wait for its connectors, or goes on. */
  | { type: 'waiting'; run: number; isWaiting: boolean }
  /** How far a task has come, as JSON text. */
  | { type: 'progress'; run: number; json: string }
  | { type: 'ended'; run: number; outcome: RunOutcome | 'not-begun' }
  /** A run that was stopped goes on all the same. */
  | { type: 'overstayed' }
  /** Asks for a port to the thread of connectors. */
  | { type: 'connect' }
  | { type: 'log'; runId: string; message: string; fields?: Record<string, unknown> }

export type ThreadData = { configFile: string; resultBytesMax: number; pulse: SharedArrayBuffer }

/**
 * Shared memory, because a thread that is blocked can neither send nor receive: how often it has come round its event
 * loop, the number of the last run that it began, and the number up to which the host has taken back what was not begun.
 *
 * A thread writes `started` and then reads what was taken; the host writes what it takes and then reads `started`. So
 * a run is begun, or it is taken back, and never both; when each sees the other, the thread leaves the run and says so.
 */
export const pulseAt = { beats: 0, started: 1, takenTo: 2 } as const
export const pulseBytes = 12
export const beatMs = 200
