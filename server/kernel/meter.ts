import type { Units } from './money.ts'

/** Told of what the service does, so that it can be counted; never throws, and nothing waits for it. */
export type Meter = {
  /** A task was taken up, so long after it was created. */
  taskTaken(waitedSeconds: number): void
  /** A run of an endpoint ended, in the words of its task's end; `code` is that of its error. */
  taskRun(run: { agentId: string; end: 'completed' | 'failed' | 'interrupted'; code: string; seconds: number }): void
  /** Runs that the process before this one left open were ended or queued again. */
  tasksRecovered(runs: readonly { agentId: string }[]): void
  /** A chat was settled. */
  chatRun(run: { agentId: string; end: 'finished' | 'truncated' | 'failed'; seconds: number } & ChatUse): void
}

export type ChatUse = {
  promptTokens: number
  completionTokens: number
  reasoningTokens: number
  toolCalls: number
  /** The part of the cost that the balance did not cover. */
  writtenOff: Units
}
