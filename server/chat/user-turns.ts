import type { Units } from '../kernel/money.ts'

type Member = {
  isWaiting: boolean
  hasLeft: boolean
  held: Units
  most: Units
  patientUntil: number | undefined
  /** Wakes it. */
  wake: () => void
}
type Line = {
  turns: Member[]
  line: object[]
  /** What the turns that are about to begin may need, each. */
  trying: Units[]
  onChange: Set<() => void>
}

/** A turn that runs, to its user's others. */
export type Membership = {
  /** Waits until something may have changed; false when the turn is the one to give up. */
  wait: () => Promise<boolean>
  /** Told when it holds more. */
  holds: (held: Units) => void
  leave: () => void
}

/** Turns of one user that stand in line. What they wait for is the user's own, so the line keeps nobody else's room. */
export const lineMax = 20
/** A poll, too: a balance may be topped up by another process, which sends no signal. */
const lookMs = 1000
/** How long, at most, a turn waits for what other nodes hold; one that waits for it in turn gives up after another time. */
const patienceMsMax = 30_000

/**
 * The turns of each user that run side by side on one balance. What one of them does not use comes free when it is
 * settled, so a turn for which too little is free now waits for the others instead of failing:
 *
 * - A new turn waits in line, first come first served, while others run that may need what is free.
 * - A running turn that needs a larger hold waits too. When all that run wait, the last one to have come gives up.
 *
 * Turns on other nodes are known only by what the account holds beyond these. While it does, those here wait for that
 * as well, for some time: whether those there wait too is not known.
 */
export class UserTurns {
  readonly #users = new Map<string, Line>()
  #waiting = 0
  readonly #heldOf: ((userId: string) => Promise<Units>) | undefined

  /** `heldOf` reads what the account holds in all; left out where these are all the turns there are. */
  constructor(heldOf?: (userId: string) => Promise<Units>) {
    this.#heldOf = heldOf
  }

  /**
   * Makes an attempt to begin a turn, which is told what the others of the user that run, or are about to, may still
   * need, Infinity while one of them waits for it; and whether there are none, which those that hold all they need are not.
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

  /** Whether something of the user's is under way that may leave some of the balance free. */
  isBusy(userId: string): boolean {
    const user = this.#users.get(userId)
    return user !== undefined && user.turns.length + user.trying.length > 0
  }

  /** Whether an account that holds `held` in all holds some of it for turns on other nodes. */
  isHeldElsewhere(userId: string, held: Units): boolean {
    return this.#heldOf !== undefined && held > heldBy(this.#users.get(userId)?.turns ?? [])
  }

  /** How many turns stand in lines, of all users. */
  get waitingCount(): number {
    return this.#waiting
  }

  /**
   * A place in the user's line, of those that there are: `mine` resolves when nobody stands before it, or when it is no
   * longer of use to wait.
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
          // Nothing has come free for those between, and woken they would not be found waiting.
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

  /** Resolves at the next change of the user's turns, or after a second. */
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

  /** Whether a turn on another node may leave some of the balance free soon. */
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

/** The last one to have come, when all wait. */
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
