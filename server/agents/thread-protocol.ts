import type { RunOutcome, TaskRequest } from './run-outcome.ts'

// The messages between the host and an agent thread. Messages of one turn of the event loop go together in an array.

/** `run` counts up by one per thread, so `started` below tells which runs the thread has begun. */
export type ToThread = { type: 'run'; run: number; request: TaskRequest } | { type: 'abort'; run: number }

export type FromThread =
  | { type: 'ready' }
  | { type: 'unusable'; message: string }
  | { type: 'ended'; run: number; outcome: RunOutcome }
  | { type: 'log'; taskId: string; message: string; fields?: Record<string, unknown> }

export type ThreadData = { configFile: string; resultBytesMax: number; pulse: SharedArrayBuffer }

/**
 * Shared memory, because a thread that is blocked can send nothing: how often it has come round its event loop, and
 * the number of the last run that it began.
 */
export const pulseAt = { beats: 0, started: 1 } as const
export const pulseBytes = 8
export const beatMs = 200
