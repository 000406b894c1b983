import type { EpochMs } from '../../kernel/clock.ts'

// Clients of some protocols retry requests automatically, without an Idempotency-Key.

/** `digest` is a hash shared by all retries of a request. `retries` is the retry count that the client sends. */
export type WireRequest = { digest: string; retries: number }

/**
 * An MCP tool call that waits for its task. `what` is a digest of the call's content. `request` is a digest of the
 * client's request, or null if the request does not identify its client. A retry gets the same task until `keptMs`
 * after the client has disconnected.
 */
export type ToolCall = { what: string; request: string | null; keptMs: number }

type RequestOf = { userId: string; digest: string; resourceId: string }

export type WireRequestStore = {
  /** Returns the turn created by an earlier attempt, if that turn is open or ended within the last minute. */
  findTurn(input: WireRequest & { userId: string }): Promise<string | undefined>
  /**
   * Records that the client disconnected before it received the whole response. The next retry then gets this turn or
   * task first. Returns the recorded time.
   */
  left(input: RequestOf): Promise<EpochMs>
  /** Undoes `left`. Returns false if another attempt has since received the turn or task. */
  takeBack(input: RequestOf & { leftAt: EpochMs }): Promise<boolean>
  /**
   * Marks all requests as disconnected. Called at startup if no other server shares the database, because no client is
   * connected then.
   */
  leaveAll(): Promise<void>
}
