import { ErrandError } from '../kernel/errors.ts'
import { ownTurn } from '../kernel/own-turn.ts'
import { jsonBytes, pageBytesMax } from '../store/byte-bounds.ts'

/** Maximum number of calls in a batch. A larger batch is rejected as a whole. */
export const batchCallsMax = 20
export const batchBytesMax = 8 * 1024 * 1024

/** A batch of queries in one request. Limits the total size of their responses. */
export class Batch {
  /** Maximum size of each list page, so that the responses of a batch together are about as large as one page. */
  readonly pageBytesMax: number
  readonly #userId: string
  #bytesLeft = batchBytesMax

  constructor(userId: string, calls: number) {
    this.#userId = userId
    this.pageBytesMax = Math.floor(pageBytesMax / calls)
  }

  /** Runs each call in its own event-loop tick, so that other work can run in between. */
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
    const message = `The responses of this batch exceed ${batchBytesMax} bytes. Send this call in a separate request.`
    throw new ErrandError('PAYLOAD_TOO_LARGE', message)
  }
}
