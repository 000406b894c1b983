import type { RunOutcome, TaskRequest } from './run-outcome.ts'

/** A line that an agent logged, with the ids of its run. */
export type AgentLogLine = { taskId: string; message: string; fields?: Record<string, unknown> }

/** Where agents run: in threads of their own, or for embedding in the caller's thread. */
export type AgentHost = {
  /** Whether a run that is started now would be taken up at once. */
  readonly isReady: boolean
  /** Resolves when a run that is started now would be taken up at once. */
  ready(): Promise<void>
  /**
   * Runs an endpoint. Never rejects. When `signal` aborts, the agent's own signal fires and the outcome is the abort's
   * reason at once, whether the agent heeds it or not.
   */
  runTask(request: TaskRequest, signal: AbortSignal): Promise<RunOutcome>
  close(): Promise<void>
}
