import type { Units } from './money.ts'

/** Receives the service's activity for counting. Never throws, and nothing waits for it. */
export type Meter = {
  /** A task was started, that long after its creation. */
  taskTaken(waitedSeconds: number): void
  /** A run of an endpoint ended, with the outcome of its task; `code` is that of its error. */
  taskRun(run: { agentId: string; end: 'completed' | 'failed' | 'interrupted'; code: string; seconds: number }): void
  /** Runs left open by the previous process were ended or queued again. */
  tasksRecovered(runs: readonly { agentId: string }[]): void
  chatRun(run: { agentId: string; end: 'finished' | 'truncated' | 'failed'; seconds: number } & ChatUse): void
}

export type ChatUse = {
  promptTokens: number
  completionTokens: number
  reasoningTokens: number
  toolCalls: number
  /** Part of the cost that the balance did not cover. */
  writtenOff: Units
}
