import type { EpochMs } from '../../kernel/clock.ts'

// Requests of protocols whose clients retry automatically, without an Idempotency-Key.

/** `digest`: hash of the request, equal for its retries. `retries`: the client's own retry count. */
export type WireRequest = { digest: string; retries: number }

/**
 * A tool call that waits for its task. `what`: digest of the call's content. `request`: digest of the client's request;
 * null if the request does not identify its client. For `keptMs` after a disconnect, a retry is answered with the task.
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
   * Records that the client disconnected before the complete response was sent, so that the next retry is answered with
   * this turn or task first. Returns the time recorded.
   */
  left(input: RequestOf): Promise<EpochMs>
  /** Undoes `left`. Returns false if another attempt has been answered with the turn or task since then. */
  takeBack(input: RequestOf & { leftAt: EpochMs }): Promise<boolean>
  /** Marks all requests as disconnected when the only process starts, because no client is waiting any more. */
  leaveAll(): Promise<void>
}
