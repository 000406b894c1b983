import { newId } from '../kernel/ids.ts'
import { takeEvent, type PaymentParts } from './manage-topups.ts'

const everyMs = 15_000
/** One that is under way longer than that was left behind by a crash, or its answer was lost. */
const leftMs = 60_000
const pageMax = 100

/**
 * Tops up balances that have fallen below their owners' thresholds. The top-up is in the store before the provider is asked
 * under its id, so that whoever looks next finds what a crash has left, and nobody is charged twice for it.
 */
export class AutoRecharge {
  readonly #parts: PaymentParts
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> | undefined
  #isClosed = false

  constructor(parts: PaymentParts) {
    this.#parts = parts
  }

  start(): void {
    if (!this.#parts.port) return
    this.#timer = setInterval(() => void this.look(), everyMs)
    this.#timer.unref()
  }

  /** Recharges whoever is due now; one look at a time. */
  look(): Promise<void> {
    this.#running ??= this.#lookAtAll().finally(() => (this.#running = undefined))
    return this.#running
  }

  /** Lets what was asked of the provider come to its end. */
  async stop(): Promise<void> {
    this.#isClosed = true
    clearInterval(this.#timer)
    await this.#running
  }

  async #lookAtAll(): Promise<void> {
    const { log, store } = this.#parts
    let afterId = ''
    for (let page = [afterId]; page.length > 0 && !this.#isClosed;) {
      page = await store.payments.rechargeable({ afterId, limit: pageMax }).catch((error: unknown) => {
        log.warn({ err: error }, 'the search for balances to recharge failed; it is tried again')
        return []
      })
      for (const userId of page) {
        if (this.#isClosed) return
        await this.#recharge(userId).catch((error: unknown) => {
          log.warn({ err: error, userId }, 'a balance could not be recharged; it is tried again')
        })
      }
      afterId = page.at(-1) ?? afterId
    }
  }

  async #recharge(userId: string): Promise<void> {
    const { amounts, clock, port, store } = this.#parts
    const now = clock.now()
    const { least, most } = amounts
    const due = await store.payments.beginRecharge({ userId, topupId: newId('top', now), least, most })
    if (!due || !port || (!due.isNew && now - due.topup.createdAt < leftMs)) return
    const event = await port.charge(due, now)
    if (event) await takeEvent(this.#parts, event)
  }
}
