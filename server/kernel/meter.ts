import type { Units } from './money.ts'

/** Receives the service's activity for counting. Never throws, and nothing waits for it. */
export type Meter = {
  /** Counts a started task and how long after its creation it started. */
  taskTaken(waitedSeconds: number): void
  /** Counts the run of an endpoint, with the outcome of its task; `code` is that of its error. */
  taskRun(run: { agentId: string; end: 'completed' | 'failed' | 'interrupted'; code: string; seconds: number }): void
  /** Counts runs that the previous process left open and that were ended or queued again. */
  tasksRecovered(runs: readonly { agentId: string }[]): void
  chatRun(run: { agentId: string; end: 'finished' | 'truncated' | 'failed'; seconds: number } & ChatUse): void
}

export type ChatUse = {
  promptTokens: number
  completionTokens: number
  reasoningTokens: number
  toolCalls: number
  /** Part of the cost that exceeded the balance, a cap or a spending limit. */
  writtenOff: Units
}
