import { ErrandError } from '../kernel/errors.ts'
import { ownTurn } from '../kernel/own-turn.ts'
import { jsonBytes, pageBytesMax } from '../store/byte-bounds.ts'

/** More of them are refused as a whole. */
export const batchCallsMax = 20
/** Of all answers of one batch together. */
export const batchBytesMax = 8 * 1024 * 1024

/** The queries that one request makes together, and what their answers may still come to. */
export class Batch {
  /** Of each page of a list, so that the batch is about as large as one page. */
  readonly pageBytesMax: number
  readonly #userId: string
  #bytesLeft = batchBytesMax

  constructor(userId: string, calls: number) {
    this.#userId = userId
    this.pageBytesMax = Math.floor(pageBytesMax / calls)
  }

  /** Makes one of its calls, with other work of the event loop between it and the one before, of whichever batch. */
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
    const message = `The answers of this batch are more than ${batchBytesMax} bytes; send this call alone.`
    throw new ErrandError('PAYLOAD_TOO_LARGE', message)
  }
}
