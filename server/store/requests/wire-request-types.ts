import type { EpochMs } from '../../kernel/clock.ts'

// Requests of protocols whose clients retry automatically, without an Idempotency-Key.

/** `digest` identifies the request. `retries` is the client's own retry count. */
export type WireRequest = { digest: string; retries: number }

/**
 * A tool call that waits for its task. `what` is a digest of the call's content. `request` is a digest of the client's
 * request; null if the request does not identify the client. For `keptMs` after a disconnect the task can answer a retry.
 */
export type ToolCall = { what: string; request: string | null; keptMs: number }

type RequestOf = { userId: string; digest: string; resourceId: string }

export type WireRequestStore = {
  /**
   * Returns the turn that answered an earlier attempt of the request, if the turn is open or ended within the last
   * minute.
   */
  findTurn(input: WireRequest & { userId: string }): Promise<string | undefined>
  /**
   * Records that the client disconnected before the complete response was sent, so the next retry most likely comes from
   * that client.
   */
  left(input: RequestOf): Promise<EpochMs>
  /** Returns false if another attempt has been answered with the turn or task since the client disconnected. */
  takeBack(input: RequestOf & { leftAt: EpochMs }): Promise<boolean>
  /** Marks all requests as disconnected when the only process starts, because no client is waiting any more. */
  leaveAll(): Promise<void>
}
