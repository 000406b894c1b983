import type { EpochMs } from '../../kernel/clock.ts'

// Requests of protocols whose clients retry automatically, without an Idempotency-Key.

/** `digest` identifies the request. `retries` is the client's own retry count. */
export type WireRequest = { digest: string; retries: number }

/** A tool call that waits for its task: digests of its contents (`what`), and of the request if its client can be told from all others. */
export type ToolCall = { what: string; request: string | null; keptMs: number }

type RequestOf = { userId: string; digest: string; resourceId: string }

export type WireRequestStore = {
  /** The turn that answered an earlier attempt of the request, if it is open or ended within the last minute. */
  findTurn(input: WireRequest & { userId: string }): Promise<string | undefined>
  /** Notes that its client left before the whole response was sent, so the next retry most likely belongs to it. */
  left(input: RequestOf): Promise<EpochMs>
  /** Returns false if another attempt has been answered with it since its client left. */
  takeBack(input: RequestOf & { leftAt: EpochMs }): Promise<boolean>
  /** Marks all as left when the only process starts: no client is waiting any longer. */
  leaveAll(): Promise<void>
}
