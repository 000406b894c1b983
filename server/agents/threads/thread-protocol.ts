import type { MessagePort } from 'node:worker_threads'
import type { ProjectModules } from '../config/project-modules.ts'
import type { ChatBatch, ChatRequest, StepRequest } from '../run/chat-messages.ts'
import type { RunOutcome, TaskRequest } from '../run/run-outcome.ts'

// Messages between the host and an agent thread. All messages of one tick are sent together as an array.

/**
 * Each thread numbers its runs consecutively. The shared `started` counter (see `pulseAt`) therefore shows which runs
 * have started.
 */
export type ToThread =
  | { type: 'run'; run: number; request: TaskRequest }
  | { type: 'chat'; run: number; request: ChatRequest }
  | { type: 'count'; run: number; text: string }
  | { type: 'connectors'; port: MessagePort }
  /** The client of a chat has read this many characters. */
  | { type: 'credit'; run: number; chars: number }
  /**
   * Confirms that the cost of the step request with this serial is reserved. A model call may generate up to `tokens`
   * tokens.
   */
  | { type: 'held'; run: number; serial: number; tokens: number }
  | { type: 'cancel-forbidden'; run: number }
  /** Aborts the run's signal. For a chat, `readOnMs` is how long to keep reading an open model call for its usage. */
  | { type: 'abort'; run: number; readOnMs?: number }

export type FromThread =
  | { type: 'ready' }
  | { type: 'unusable'; message: string }
  | { type: 'batches'; run: number; batches: ChatBatch[] }
  /** A chat with files has arrived in the thread. */
  | { type: 'received'; run: number }
  /** A chat asks the host to reserve the cost of a model or tool call, and waits until it is reserved. */
  | { type: 'step'; run: number; request: StepRequest }
  /**
   * A task is about to call a connector or has charged for an event. The run waits until the task can no longer be
   * canceled.
   */
  | { type: 'forbid-cancel'; run: number }
  | { type: 'waiting'; run: number; isWaiting: boolean }
  | { type: 'progress'; run: number; json: string }
  | { type: 'ended'; run: number; outcome: RunOutcome | 'not-begun' }
  /** A run is still executing long after it was stopped. */
  | { type: 'overstayed' }
  | { type: 'connect' }
  /** `run` is absent if the line was logged outside of a run. */
  | { type: 'log'; run?: number; runId: string; message: string; fields?: Record<string, unknown> }

export type ThreadData = {
  configFile: string
  /** Modules of the configuration. If undefined, the thread reads them from disk. */
  modules: ProjectModules | undefined
  replyBytesMax: number
  resultBytesMax: number
  pulse: SharedArrayBuffer
}

/**
 * Indexes into memory shared by host and thread, because a blocked thread can neither send nor receive messages.
 * `beats` counts the heartbeats of the thread's event loop. `started` is the last run that the thread has started.
 * `takenTo` is the last unstarted run that the host has taken back.
 *
 * A thread writes `started` and then reads `takenTo`. The host writes `takenTo` and then reads `started`. A run is
 * therefore never executed both by this thread and by another one. If each side sees the other's write, the thread
 * skips the run and reports it.
 */
export const pulseAt = { beats: 0, started: 1, takenTo: 2 } as const
export const pulseBytes = 12
export const beatMs = 200
