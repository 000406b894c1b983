import type { ConnectorSpec } from '../../connectors/connector-spec.ts'
import type { ChatBatch, ChatRequest, StepRequest } from '../run/chat-messages.ts'
import type { RunOutcome, TaskRequest } from '../run/run-outcome.ts'

/** A line that an agent logged, with the id of its task or turn. */
export type AgentLogLine = { runId: string; message: string; fields?: Record<string, unknown> }

/** A thread that agents run in, as the operator sees it. */
export type AgentThreadState = { id: number; running: number; isResponding: boolean }

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
  runTask(request: TaskRequest, options: RunTaskOptions): Promise<RunOutcome>
  /** Lets an agent reply in a chat. */
  runChat(request: ChatRequest, options: RunChatOptions): ChatHandle
  /** Counts the tokens of a text as those of replies are; undefined if no thread answers within five seconds. */
  countTokens(text: string): Promise<number | undefined>
  /** Asks a connector's server for its tools. Never rejects. `completed` carries ConnectorTools. */
  probe(spec: ConnectorSpec, signal: AbortSignal): Promise<RunOutcome>
  /** None when agents run in the caller's thread. */
  threads(): AgentThreadState[]
  close(): Promise<void>
}

export type RunTaskOptions = {
  signal: AbortSignal
  /** Told how far the run has come, as JSON text, some ten times a second at most. */
  onProgress: (json: string) => void
  /** Resolves when the task can no longer be canceled. Never settles if it was canceled first; `signal` aborts then. */
  onForbidCancel: () => Promise<void>
  /** Told when the run begins to wait for its connectors, and when it goes on. */
  onWaiting: (isWaiting: boolean) => void
}

export type RunChatOptions = {
  onBatch: (batch: ChatBatch) => void
  /** Called when an agent thread has its own copy of a request with files. The host does not read the request again. */
  onReceived?: () => void
  /**
   * Holds what a call of a model may cost; resolves with how many tokens it may write then. Where it may not begin the
   * promise stays open, and `signal` aborts.
   */
  onStep: (request: StepRequest) => Promise<number>
  /**
   * Fires the agent's own signal; its reason is a ChatStop. The outcome is then the summary of what there was or, if that
   * does not come within a second after its `readOnMs`, the abort's reason.
   */
  signal: AbortSignal
  /** The reply's own time limit: a thread that does not answer is not ended for it before. */
  limitMs: number
}

export type ChatHandle = {
  /** Never rejects. `completed` carries a ChatSummary. */
  outcome: Promise<RunOutcome>
  /** So many characters of the lines were taken; the agent goes on when enough of what it sent was. */
  credit: (chars: number) => void
}
