import { setTimeout as sleep } from 'node:timers/promises'
import { chatHold, type ChatRates, type ChatUsed } from '../billing/chat-price.ts'
import type { Units } from '../kernel/money.ts'
import type { HoldLimit } from '../store/sessions/session-types.ts'
import type { Store } from '../store/store.ts'
import { isTransient } from './settle-turn.ts'

const retryMs = 200

type TurnHoldParts = {
  store: Pick<Store, 'growHold'>
  turnId: string
  /** Highest rates that can apply to the turn. */
  rates: () => ChatRates
  /** Minimum increase of the hold. Each increase is a database commit, so larger steps save commits. */
  step: Units
  isOver: () => boolean
  onFault: (error: unknown) => void
}

type Cover = {
  /** Usage that the hold must cover even if balance, caps and limits do not allow all of `used`. */
  least?: ChatUsed
  /**
   * Whether `used` already includes the maximum usage of the next model call. If so, nothing is reserved in advance.
   */
  isWhole?: boolean
}

/**
 * The amount of the user's balance that is reserved for a turn. Increases run one after another. The amount never
 * decreases before the turn ends.
 */
export class TurnHold {
  readonly #parts: TurnHoldParts
  #held: Units
  /** Amount that the balance, the caps and the limits still allowed after the last increase. */
  #free: Units = 0
  #limit: HoldLimit = 'balance'
  #last: Promise<unknown> = Promise.resolve()

  constructor(held: Units, parts: TurnHoldParts) {
    this.#held = held
    this.#parts = parts
  }

  get held(): Units {
    return this.#held
  }

  /** Reason for the last rejected increase. */
  get limit(): HoldLimit {
    return this.#limit
  }

  covers(used: ChatUsed): boolean {
    return chatHold(used, this.#parts.rates()) <= this.#held
  }

  /**
   * Increases the hold to cover `used`, or as much of it as balance, caps and limits allow. Resolves to whether the
   * hold covers `least`. Never rejects: a failure is reported to `onFault`.
   */
  cover(used: ChatUsed, { isWhole = false, least = used }: Cover = {}): Promise<boolean> {
    const { onFault, rates } = this.#parts
    const need = chatHold(used, rates())
    if (need <= this.#held) return Promise.resolve(true)
    const atLeast = chatHold(least, rates())
    const done = this.#last
      .then(() => this.#cover({ need, atLeast, isWhole }))
      .catch((error: unknown) => {
        onFault(error)
        return false
      })
    this.#last = done
    return done
  }

  async #cover({ atLeast, isWhole, need }: { need: Units; atLeast: Units; isWhole: boolean }): Promise<boolean> {
    const missing = need - this.#held
    if (missing <= 0) return true
    const by = isWhole ? missing : Math.max(missing, this.#parts.step, this.#ahead)
    if (await this.#grow({ by, least: missing })) return true
    if (atLeast < need) await this.#grow({ by: missing, least: Math.max(1, atLeast - this.#held) })
    return this.#held >= atLeast
  }

  /**
   * Amount to reserve in advance. Equals the current hold, so that a long reply takes few commits, but is at most an
   * eighth of the free amount, because the user's other turns need the rest.
   */
  get #ahead(): Units {
    return Math.floor(Math.min(this.#held, this.#free / 8))
  }

  /** Retries while the database is unavailable. The turn waits during the retries, so no unpaid text is sent. */
  async #grow({ by, least }: { by: Units; least: Units }): Promise<boolean> {
    const { isOver, store, turnId } = this.#parts
    for (;;) {
      try {
        const grown = await store.growHold({ turnId, by, least })
        if (grown.outcome === 'held') {
          this.#held = grown.held
          this.#free = grown.free
          return true
        }
        this.#limit = grown.reason === 'over' ? 'balance' : grown.reason
        return false
      } catch (error) {
        if (!isTransient(error)) throw error
        if (isOver()) return false
        await sleep(retryMs, undefined, { ref: false })
      }
    }
  }
}
