import { setTimeout as sleep } from 'node:timers/promises'
import { chatHold, type ChatRates, type ChatUsed } from '../billing/chat-price.ts'
import type { Units } from '../kernel/money.ts'
import type { Store } from '../store/store.ts'
import { isPassing } from './settle-turn.ts'
import type { Membership } from './user-turns.ts'

const retryMs = 200

/** Reason that a hold cannot grow: the balance, the maximum cost of the chat or its session, or a spending limit. */
export type HoldLimit = 'balance' | 'budget' | 'limit'

type TurnHoldParts = {
  store: Pick<Store, 'growHold'>
  turnId: string
  rates: ChatRates
  membership: Membership
  /** Minimum increase, because each increase is a database commit. */
  step: Units
  /** Whether the turn has ended, so that nothing more needs to be held. */
  isOver: () => boolean
  onFault: (error: unknown) => void
}

/**
 * The amount that the account holds for a turn. Increases run one after another. The hold shrinks only when the turn
 * ends.
 */
export class TurnHold {
  readonly #parts: TurnHoldParts
  #held: Units
  /** Amount left under balance, caps and limits after the last increase. */
  #free: Units = 0
  /** The limit that prevented the last increase, and the amount left under caps and limits then. */
  #limit: HoldLimit = 'balance'
  #left: Units = 0
  #last: Promise<unknown> = Promise.resolve()

  constructor(held: Units, parts: TurnHoldParts) {
    this.#held = held
    this.#parts = parts
  }

  get held(): Units {
    return this.#held
  }

  get limit(): HoldLimit {
    return this.#limit
  }

  covers(used: ChatUsed): boolean {
    return chatHold(used, this.#parts.rates) <= this.#held
  }

  /**
   * Increases the hold to cover `used`. Waits for the user's other turns if their holds leave too little of the
   * balance. Resolves to false if the balance or a cap does not allow the increase.
   */
  cover(used: ChatUsed): Promise<boolean> {
    const need = chatHold(used, this.#parts.rates)
    if (need <= this.#held) return Promise.resolve(true)
    return this.#next(() => this.#cover(need))
  }

  /**
   * Like `cover`, but may cover less. If balance and caps do not allow `used`, increases the hold as far as they allow.
   * Resolves to false if the hold then does not cover `least`.
   */
  coverSome(used: ChatUsed, least: ChatUsed): Promise<boolean> {
    const { rates } = this.#parts
    const need = chatHold(used, rates)
    if (need <= this.#held) return Promise.resolve(true)
    return this.#next(async () => {
      // Step 0: this amount covers the complete call, and the user's other turns may need the remainder.
      if (await this.#cover(need, 0)) return true
      const atLeast = chatHold(least, rates)
      const allowed = this.#held + this.#left
      if (this.#limit !== 'balance' && allowed >= atLeast && (await this.#cover(allowed, 0))) return true
      await this.#grow({ by: need - this.#held, least: Math.max(1, atLeast - this.#held) })
      return this.#held >= atLeast
    })
  }

  /** Runs the task after the previous one. Never rejects: a failure is a fault of the turn, and later tasks still run. */
  #next(task: () => Promise<boolean>): Promise<boolean> {
    const done = this.#last.then(task).catch((error: unknown) => {
      this.#parts.onFault(error)
      return false
    })
    this.#last = done
    return done
  }

  async #cover(need: Units, step: Units = this.#parts.step): Promise<boolean> {
    const { isOver, membership } = this.#parts
    while (need > this.#held) {
      const least = need - this.#held
      if (await this.#grow({ by: Math.max(least, step && Math.max(step, this.#ahead)), least })) continue
      if (isOver()) return true
      if (this.#limit !== 'balance') return false
      const mayGoOn = await membership.wait()
      if (isOver()) return true
      if (!mayGoOn) return false
    }
    return true
  }

  /**
   * Amount to hold in advance: as much as the turn already holds, so that a long reply takes few commits. At most an
   * eighth of the free amount, because the user's other turns need the rest.
   */
  get #ahead(): Units {
    return Math.floor(Math.min(this.#held, this.#free / 8))
  }

  /** Retries while the database is unavailable. The turn waits during the retries, so no unpaid text is sent. */
  async #grow({ by, least }: { by: number; least: number }): Promise<boolean> {
    const { isOver, membership, onFault, store, turnId } = this.#parts
    for (;;) {
      try {
        const grown = await store.growHold({ turnId, by, least })
        if (grown.outcome === 'held') {
          this.#held = grown.held
          this.#free = grown.free
          membership.holds(grown.held)
          return true
        }
        this.#limit = grown.reason === 'over' ? 'balance' : grown.reason
        this.#left = 'left' in grown ? grown.left : 0
        return false
      } catch (error) {
        if (!isPassing(error)) {
          onFault(error)
          return false
        }
        if (isOver()) return false
        await sleep(retryMs, undefined, { ref: false })
      }
    }
  }
}
