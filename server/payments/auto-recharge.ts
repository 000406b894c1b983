import { newId } from '../kernel/ids.ts'
import type { PaymentParts } from './manage-topups.ts'
import { applyState } from './refresh-topup.ts'

const everyMs = 15_000
/**
 * A recharge in progress for longer than this was interrupted: its process crashed, or the provider's response was
 * lost.
 */
const leftMs = 60_000
const pageMax = 100

/**
 * Tops up balances that are below their owners' thresholds. Stores each top-up before calling the provider with its id.
 * After a crash, the next run can therefore resume it without charging the user twice.
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

  /** Recharges all accounts that are due. If a run is in progress, waits for it instead of starting another. */
  look(): Promise<void> {
    this.#running ??= this.#lookAtAll().finally(() => (this.#running = undefined))
    return this.#running
  }

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
        log.warn({ err: error }, 'could not find balances to recharge; retrying')
        return []
      })
      for (const userId of page) {
        if (this.#isClosed) return
        await this.#recharge(userId).catch((error: unknown) => {
          log.warn({ err: error, userId }, 'could not recharge a balance; retrying')
        })
      }
      afterId = page.at(-1) ?? afterId
    }
  }

  async #recharge(userId: string): Promise<void> {
    const { amounts, clock, port, store } = this.#parts
    const now = clock.now()
    const due = await store.payments.beginRecharge({ userId, topupId: newId('top', now), ...amounts })
    if (!due || !port || (!due.isNew && now - due.topup.createdAt < leftMs)) return
    const state = await port.charge(due, now)
    // The result does not matter: if the state is stale, an event has already applied a newer one.
    if (state) await applyState(this.#parts, { topup: due.topup, state, about: { type: 'recharge' } })
  }
}
