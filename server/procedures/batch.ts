import { ErrandError } from '../kernel/errors.ts'
import { ownTurn } from '../kernel/own-turn.ts'
import { jsonBytes, pageBytesMax } from '../store/byte-bounds.ts'

/** Max calls in a batch; a larger one is rejected completely. */
export const batchCallsMax = 20
/** Max bytes of all responses of one batch together. */
export const batchBytesMax = 8 * 1024 * 1024

/** A batch of queries in one request. Keeps track of the bytes left for their responses. */
export class Batch {
  /** Max bytes of each list page, so that the complete batch is about as large as one page. */
  readonly pageBytesMax: number
  readonly #userId: string
  #bytesLeft = batchBytesMax

  constructor(userId: string, calls: number) {
    this.#userId = userId
    this.pageBytesMax = Math.floor(pageBytesMax / calls)
  }

  /** Runs one call in its own event-loop tick, so that other work can run between the calls of a batch. */
  async call<Output>(resolve: () => Output | Promise<Output>): Promise<Output> {
    await ownTurn(this.#userId)
    this.#assertRoom()
    const answer = await resolve()
    this.#bytesLeft -= jsonBytes(answer)
    this.#assertRoom()
    return answer
  }

  #assertRoom(): void {
    if (this.#bytesLeft > 0) return
    const message = `The responses of this batch exceed ${batchBytesMax} bytes. Send this call on its own.`
    throw new ErrandError('PAYLOAD_TOO_LARGE', message)
  }
}
