import type { ConnectorSpec, ProbeOutcome } from '../../connectors/connector-spec.ts'
import type { ChatBatch, ChatRequest, StepRequest } from '../run/chat-messages.ts'
import type { RunOutcome, TaskRequest } from '../run/run-outcome.ts'

/** A line logged by an agent, with the id of its task or turn. */
export type AgentLogLine = { runId: string; message: string; fields?: Record<string, unknown> }

/** State of an agent thread, as shown to the operator. */
export type AgentThreadState = { id: number; running: number; isResponding: boolean }

/** Runs agents: in dedicated threads, or in the caller's thread when embedded. */
export type AgentHost = {
  /** Whether a run would start immediately. */
  readonly isReady: boolean
  ready(): Promise<void>
  /**
   * Runs an endpoint. Never rejects. When `signal` aborts, the agent's own signal aborts too. The promise then resolves
   * immediately with the abort reason, even if the agent ignores its signal.
   */
  runTask(request: TaskRequest, options: RunTaskOptions): Promise<RunOutcome>
  runChat(request: ChatRequest, options: RunChatOptions): ChatHandle
  /** Counts the tokens of a string in the same way as for a reply. Undefined if no thread answers within five seconds. */
  countTokens(text: string): Promise<number | undefined>
  /** Requests the tool list from a connector's server. Never rejects. A `completed` outcome carries ConnectorTools. */
  probe(spec: ConnectorSpec, signal: AbortSignal): Promise<ProbeOutcome>
  /**
   * Loads the configuration again beside the current one, and resolves with the function that makes it the current
   * generation. Runs of earlier generations continue. Rejects if the agents cannot be loaded.
   */
  prepare(generation: number): Promise<() => void>
  /** Empty if agents run in the caller's thread. */
  threads(): AgentThreadState[]
  close(): Promise<void>
}

export type RunTaskOptions = {
  /** Generation of the catalogue that the endpoint was read from. */
  generation: number
  signal: AbortSignal
  /** Called with the run's progress as a JSON string, at most about ten times a second. */
  onProgress: (json: string) => void
  /**
   * Resolves when the task can no longer be canceled. If the user canceled it first, never settles, and `signal`
   * aborts.
   */
  onForbidCancel: () => Promise<void>
  /** Called when the run starts waiting for its connectors, and when it continues. */
  onWaiting: (isWaiting: boolean) => void
}

export type RunChatOptions = {
  /** Generation of the catalogue that the agent was read from. */
  generation: number
  onBatch: (batch: ChatBatch) => void
  /**
   * Called once an agent thread has its own copy of a request with files. From then on the host does not read the
   * request.
   */
  onReceived?: () => void
  /**
   * Reserves the maximum cost of a model call and resolves with its output-token limit. If the call is not allowed, never
   * settles, and `signal` aborts.
   */
  onStep: (request: StepRequest) => Promise<number>
  /**
   * Its abort reason is a ChatStop. When it aborts, the agent's own signal aborts too. The outcome is then the summary
   * of the reply so far. If no summary arrives within three seconds after `readOnMs`, the outcome is the abort reason.
   */
  signal: AbortSignal
  /** The reply's own time limit. Until then, an unresponsive thread is not terminated because of this reply. */
  limitMs: number
}

export type ChatHandle = {
  /** Never rejects. `completed` carries a ChatSummary. */
  outcome: Promise<RunOutcome>
  /**
   * Called when the client has read this many characters of the lines. The agent continues once enough of its output
   * has been read.
   */
  credit: (chars: number) => void
}
