import type { EpochMs } from '../../kernel/clock.ts'

// Requests of protocols whose clients repeat them by themselves, without an Idempotency-Key.

/** `digest` is that of the request; `retries` is how often its client says that it has repeated it. */
export type WireRequest = { digest: string; retries: number }

/**
 * A call of a tool that waits for its task: digests of what it asks for, and of the request of one client, if that is told from
 * all others.
 */
export type ToolCall = { what: string; request: string | null; keptMs: number }

type RequestOf = { userId: string; digest: string; resourceId: string }

export type WireRequestStore = {
  /** The turn that an earlier sending of the request was answered with, if it is open or ended within the last minute. */
  findTurn(input: WireRequest & { userId: string }): Promise<string | undefined>
  /** Its client left without the whole answer, so the next repetition is most likely of this one. */
  left(input: RequestOf): Promise<EpochMs>
  /** False when another sending has been answered with it since its client left. */
  takeBack(input: RequestOf & { leftAt: EpochMs }): Promise<boolean>
  /** After a start of the only process: nobody waits any more. */
  leaveAll(): Promise<void>
}
