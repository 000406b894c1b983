import { setTimeout as sleep } from 'node:timers/promises'
import { chatHold, type ChatRates, type ChatUsed } from '../billing/chat-price.ts'
import type { Units } from '../kernel/money.ts'
import type { Store } from '../store/store.ts'
import { isPassing } from './settle-turn.ts'
import type { Membership } from './user-turns.ts'

const retryMs = 200

/** What keeps a hold from growing: the balance, the most that the chat or its session may cost, or a limit on what is spent. */
export type HoldLimit = 'balance' | 'budget' | 'limit'

type TurnHoldParts = {
  store: Pick<Store, 'growHold'>
  turnId: string
  rates: ChatRates
  membership: Membership
  /** Each growth is a commit, so it takes at least this much. */
  step: Units
  /** The turn is ended: nothing more needs to be held. */
  isOver: () => boolean
  onFault: (error: unknown) => void
}

/** What the account holds for a turn. It grows by one wish after another, and shrinks only with the turn's end. */
export class TurnHold {
  readonly #parts: TurnHoldParts
  #held: Units
  /** What balance, caps and limits left after the last growth. */
  #free: Units = 0
  /** Of the last growth that was refused, and what caps and limits left then. */
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

  /** Why it last did not grow as it was asked to. */
  get limit(): HoldLimit {
    return this.#limit
  }

  covers(used: ChatUsed): boolean {
    return chatHold(used, this.#parts.rates) <= this.#held
  }

  /**
   * Makes it large enough for that use, waiting for the user's other turns where those hold what it needs; false when
   * the balance or a cap does not allow it.
   */
  cover(used: ChatUsed): Promise<boolean> {
    const need = chatHold(used, this.#parts.rates)
    if (need <= this.#held) return Promise.resolve(true)
    return this.#next(() => this.#cover(need))
  }

  /** As `cover`; where balance and caps do not allow all, as much as they do, if that is `least` or more. */
  coverSome(used: ChatUsed, least: ChatUsed): Promise<boolean> {
    const { rates } = this.#parts
    const need = chatHold(used, rates)
    if (need <= this.#held) return Promise.resolve(true)
    return this.#next(async () => {
      // Its whole call is held already, and what others of the user need is not taken beyond that.
      if (await this.#cover(need, 0)) return true
      const atLeast = chatHold(least, rates)
      const allowed = this.#held + this.#left
      if (this.#limit !== 'balance' && allowed >= atLeast && (await this.#cover(allowed, 0))) return true
      await this.#grow({ by: need - this.#held, least: Math.max(1, atLeast - this.#held) })
      return this.#held >= atLeast
    })
  }

  /** After the wish before it. Never rejects: what fails is a fault of the turn, and the wishes behind it go on. */
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
   * Growth in proportion, so that a long reply takes few commits, but no more than an eighth of what is free: other turns of
   * the user need the rest.
   */
  get #ahead(): Units {
    return Math.floor(Math.min(this.#held, this.#free / 8))
  }

  /** A database that is away passes: while the turn waits for it, nothing more is said that nobody would pay for. */
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
