import type { Units } from '../kernel/money.ts'

type Member = {
  isWaiting: boolean
  hasLeft: boolean
  held: Units
  most: Units
  patientUntil: number | undefined
  wake: () => void
}
type Line = {
  turns: Member[]
  line: object[]
  /** Maximum need of each turn that is about to start. */
  trying: Units[]
  onChange: Set<() => void>
}

/** A running turn's membership among its user's turns. */
export type Membership = {
  /** Waits until the user's turns or holds may have changed. Resolves to false if this turn must give up. */
  wait: () => Promise<boolean>
  /** Called when the turn's hold has increased. */
  holds: (held: Units) => void
  leave: () => void
}

/** Max turns of one user in line. They wait for the user's own balance, so the line takes no room from other users. */
export const lineMax = 20
/** Poll interval, because another process may top up a balance without a signal. */
const lookMs = 1000
/**
 * Max wait of a turn for amounts held on other nodes. It is randomized, so that two turns waiting for each other do not give up
 * together.
 */
const patienceMsMax = 30_000

/**
 * The turns of each user that run concurrently on one balance. The unused part of a turn's hold becomes free when the
 * turn is settled. So a turn that finds too little balance free waits for the others instead of failing:
 *
 * - A new turn waits in line, first come first served, while running turns may need the free amount.
 * - A running turn that needs a larger hold waits too. When all running turns wait, the newest one gives up.
 *
 * This node sees turns on other nodes only as held amounts that none of its turns holds. Turns here wait for
 * those amounts too, but only for a limited time, because the turns on other nodes may be waiting as well.
 */
export class UserTurns {
  readonly #users = new Map<string, Line>()
  #waiting = 0
  readonly #heldOf: ((userId: string) => Promise<Units>) | undefined

  /** `heldOf` reads the total amount that the account holds. Omit it if all turns run in this process. */
  constructor(heldOf?: (userId: string) => Promise<Units>) {
    this.#heldOf = heldOf
  }

  /**
   * Attempts to start a turn. `begin` receives the amount that the user's other turns may still need, whether they run
   * or are about to start. The amount is Infinity while one of the running turns waits. `isAlone` is false if there is
   * any other turn, even one that needs no larger hold.
   */
  async attempt<Result>(
    userId: string,
    { begin, mayNeed }: { mayNeed: Units; begin: (others: Units, isAlone: boolean) => Promise<Result> },
  ): Promise<Result> {
    const user = this.#user(userId)
    const isAnyWaiting = user.turns.some(({ isWaiting }) => isWaiting)
    const isAlone = user.turns.length + user.trying.length === 0
    const others = sum(user.turns.map(({ held, most }) => Math.max(0, most - held))) + sum(user.trying)
    user.trying.push(mayNeed)
    try {
      return await begin(isAnyWaiting ? Infinity : others, isAlone)
    } finally {
      user.trying.splice(user.trying.indexOf(mayNeed), 1)
      this.#changed(userId)
    }
  }

  hasLine(userId: string): boolean {
    return (this.#users.get(userId)?.line.length ?? 0) > 0
  }

  /** Whether a turn of the user is in progress that may free some of the balance. */
  isBusy(userId: string): boolean {
    const user = this.#users.get(userId)
    return user !== undefined && user.turns.length + user.trying.length > 0
  }

  /** Whether some of the account's total `held` belongs to turns on other nodes. */
  isHeldElsewhere(userId: string, held: Units): boolean {
    return this.#heldOf !== undefined && held > heldBy(this.#users.get(userId)?.turns ?? [])
  }

  /** Number of turns in line, of all users. */
  get waitingCount(): number {
    return this.#waiting
  }

  /**
   * Takes a slot in the user's line; undefined if the line is full. `mine` resolves when this turn is first in line, or
   * when `isOver` returns true.
   */
  queue(userId: string): { mine: (isOver: () => boolean) => Promise<void>; leave: () => void } | undefined {
    const user = this.#user(userId)
    if (user.line.length >= lineMax) return undefined
    const place = {}
    user.line.push(place)
    this.#waiting++
    return {
      mine: async (isOver) => {
        while (user.line[0] !== place && !isOver()) await this.change(userId)
      },
      leave: () => {
        user.line.splice(user.line.indexOf(place), 1)
        this.#waiting--
        this.#changed(userId)
      },
    }
  }

  join(userId: string, { held, most }: { held: Units; most: Units }): Membership {
    const user = this.#user(userId)
    const member: Member = { isWaiting: false, hasLeft: false, held, most, patientUntil: undefined, wake: () => {} }
    user.turns.push(member)
    return {
      wait: async () => {
        if (member.hasLeft) return false
        member.isWaiting = true
        try {
          const last = lastOfWaiting(user)
          if (last === member && !(await this.#mayComeFree(userId, member))) return false
          // Wake only the newest turn, so that it gives up. Nothing has become free for the others, and a woken turn no
          // longer counts as waiting.
          if (last !== member) last?.wake()
          const changed = Promise.withResolvers<void>()
          member.wake = changed.resolve
          await Promise.race([changed.promise, this.change(userId)])
          return true
        } finally {
          member.isWaiting = false
          member.wake = () => {}
        }
      },
      holds: (amount) => {
        member.held = amount
        member.patientUntil = undefined
      },
      leave: () => {
        member.hasLeft = true
        user.turns.splice(user.turns.indexOf(member), 1)
        this.#changed(userId)
      },
    }
  }

  /** Resolves when one of the user's turns changes, or after one second. */
  change(userId: string): Promise<void> {
    const user = this.#user(userId)
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer)
        user.onChange.delete(done)
        resolve()
      }
      const timer = setTimeout(done, lookMs)
      user.onChange.add(done)
    })
  }

  /** Whether a turn on another node may soon free some of the balance. */
  async #mayComeFree(userId: string, member: Member): Promise<boolean> {
    if (!this.#heldOf) return false
    member.patientUntil ??= performance.now() + patienceMsMax * (0.5 + Math.random() / 2)
    return performance.now() < member.patientUntil && this.isHeldElsewhere(userId, await this.#heldOf(userId))
  }

  #user(userId: string): Line {
    let user = this.#users.get(userId)
    if (!user) this.#users.set(userId, (user = { turns: [], line: [], trying: [], onChange: new Set() }))
    return user
  }

  #changed(userId: string): void {
    const user = this.#users.get(userId)
    if (!user) return
    for (const done of user.onChange) done()
    if (user.turns.length + user.line.length + user.trying.length === 0) this.#users.delete(userId)
  }
}

/** Returns the newest turn if all turns wait. */
function lastOfWaiting({ turns }: Line): Member | undefined {
  return turns.every(({ isWaiting }) => isWaiting) ? turns.at(-1) : undefined
}

function sum(amounts: readonly Units[]): Units {
  let total = 0
  for (const amount of amounts) total += amount
  return total
}

function heldBy(turns: readonly Member[]): Units {
  return sum(turns.map(({ held }) => held))
}
