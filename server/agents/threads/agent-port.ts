import type { ProbeOutcome, ProbeRequest } from '../../connectors/connector-spec.ts'
import type { ChatBatch, ChatRequest, StepRequest } from '../run/chat-messages.ts'
import type { RunOutcome, TaskRequest } from '../run/run-outcome.ts'

export type AgentLogLine = { runId: string; message: string; fields?: Record<string, unknown> }

export type AgentThreadState = { id: number; running: number; isResponding: boolean }

export type AgentHost = {
  readonly isReady: boolean
  ready(): Promise<void>
  /**
   * Runs an endpoint. Never rejects. If `signal` aborts, the agent's own signal aborts too, and the promise resolves
   * immediately with the abort reason, even if the agent ignores its signal.
   */
  runTask(request: TaskRequest, options: RunTaskOptions): Promise<RunOutcome>
  runChat(request: ChatRequest, options: RunChatOptions): ChatHandle
  /**
   * Counts the tokens of a string in the same way as for a reply. Undefined if no thread answers within five seconds.
   */
  countTokens(text: string): Promise<number | undefined>
  /**
   * Lists or calls tools of a connector's server outside of runs. Never rejects. If `signal` aborts, resolves with its
   * abort reason, which must be a ProbeOutcome.
   */
  probe(request: ProbeRequest, signal: AbortSignal): Promise<ProbeOutcome>
  /**
   * Loads the configuration again, alongside the current one. Resolves with a function that switches to it. Runs of
   * earlier generations continue. Rejects if the agents cannot be loaded.
   */
  prepare(generation: number): Promise<() => void>
  /** Empty if agents run in the caller's thread. */
  threads(): AgentThreadState[]
  close(): Promise<void>
}

export type RunTaskOptions = {
  generation: number
  signal: AbortSignal
  /** Called with the run's progress as a JSON string, at most about ten times a second. */
  onProgress: (json: string) => void
  onLog?: (line: AgentLogLine) => void
  /**
   * Resolves when the task can no longer be canceled. If the user cancels it first, the promise never settles, and
   * `signal` aborts.
   */
  onForbidCancel: () => Promise<void>
  onWaiting: (isWaiting: boolean) => void
}

export type RunChatOptions = {
  generation: number
  onBatch: (batch: ChatBatch) => void
  /** Called once an agent thread has its own copy of a request with files, so that the host can drop its copy. */
  onReceived?: () => void
  /**
   * Reserves the maximum cost of a model call and resolves with its output-token limit. If the call is not allowed,
   * the promise never settles, and `signal` aborts.
   */
  onStep: (request: StepRequest) => Promise<number>
  /**
   * Abort it only with a ChatStop as the reason. The agent's own signal then aborts too, and the outcome is a summary
   * of the reply so far. If no summary arrives within three seconds after `readOnMs`, the outcome is the abort reason.
   */
  signal: AbortSignal
  /** Time limit of the reply. Until it passes, an unresponsive thread is not terminated because of this reply. */
  limitMs: number
}

export type ChatHandle = {
  /** Never rejects. A `completed` outcome contains a ChatSummary. */
  outcome: Promise<RunOutcome>
  /**
   * Reports that the client has read `chars` more characters. The agent continues once enough of its output has been
   * read.
   */
  credit: (chars: number) => void
}
