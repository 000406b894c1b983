import type { Units } from './money.ts'

/** Counts events for the metrics. The methods never throw. */
export type Meter = {
  /** Counts a started task. `waitedSeconds` is its time in the queue. */
  taskTaken(waitedSeconds: number): void
  /** `code` is the error code of a failed task. */
  taskRun(run: {
    agentId: string
    end: 'completed' | 'failed' | 'interrupted'
    code: string
    seconds: number
    charged: number
    /** Billionths of a USD, or null if unknown. */
    providerCost: number | null
  }): void
  /** Counts runs left unfinished by a previous process, once they have ended or been requeued. */
  tasksRecovered(runs: readonly { agentId: string }[]): void
  chatRun(run: { agentId: string; end: 'finished' | 'truncated' | 'failed'; seconds: number } & ChatUse): void
}

export type ChatUse = {
  promptTokens: number
  completionTokens: number
  reasoningTokens: number
  toolCalls: number
  charged: Units
  /** Billionths of a USD that the agent's provider charged the operator, or null if unknown. */
  providerCost: number | null
  /** Part of the cost that exceeded the balance, a cap or a spending limit. */
  writtenOff: Units
}
