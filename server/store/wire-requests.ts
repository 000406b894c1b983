// Requests of protocols whose clients repeat them by themselves, without an Idempotency-Key.

/** `digest` is that of the request; `retries` is how often its client says that it has repeated it. */
export type WireRequest = { digest: string; retries: number }

export type WireRequestStore = {
  /** The turn that an earlier sending of the request was answered with, if it is open or ended within the last minute. */
  findTurn(input: WireRequest & { userId: string }): Promise<string | undefined>
  /** Its client left without the whole answer, so the next repetition is most likely of this one. */
  left(input: { userId: string; digest: string; resourceId: string }): Promise<void>
}
