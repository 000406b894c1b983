import type { TurnRow, WindowRow } from './audit-rows.ts'
import { simPlans } from './sim-agents.ts'
import type { SeenRows } from './row-audit.ts'
import type { Checks } from './sim-checks.ts'
import type { SimKey, SimPerson, SimSpend, SimState } from './sim-state.ts'

export type SimLimit = SimSpend & { ownerId: string; startsAt: number }
export type Spender = { person: SimPerson; key: SpendingKey | null }
/** A key or client token. A token is subject to its own limit and to that of its maker, the key that created it. */
type SpendingKey = Pick<SimKey, 'countsAs' | 'spend'> & { maker?: Pick<SimKey, 'countsAs' | 'spend'> }

const dayMs = 86_400_000
/** The service keeps windows and ended keys for at least this long. */
const keptMs = 80 * dayMs
/** Client tokens and their windows may be deleted this long after they expire. */
const tokenKeptMs = dayMs

/** Returns the start of the period that contains `now`, in UTC. Weeks start on Monday. */
function startOf(reset: SimSpend['reset'], now: number): number {
  if (reset === 'never') return 0
  const date = new Date(now)
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()]
  if (reset === 'month') return Date.UTC(year, month)
  return Date.UTC(year, month, reset === 'day' ? day : day - ((date.getUTCDay() + 6) % 7))
}

export function spendPerDayOf({ plan, spendPerDay }: SimPerson): number | null {
  return spendPerDay ?? (plan === null ? null : simPlans[plan].spendPerDay)
}

export function limitsOf({ key, person }: Spender, now: number): SimLimit[] {
  const limits: SimLimit[] = []
  const add = (ownerId: string, spend: SimSpend | null) => {
    if (spend) limits.push({ ...spend, ownerId, startsAt: startOf(spend.reset, now) })
  }
  if (key) add(key.countsAs, key.spend)
  if (key?.maker) add(key.maker.countsAs, key.maker.spend)
  const perDay = spendPerDayOf(person)
  if (perDay !== null) add(person.userId, { amount: perDay, reset: 'day' })
  return limits
}

/** Returns the windows that an execution counts toward, as one order-independent string. */
export function countedText(limits: readonly Pick<SimLimit, 'ownerId' | 'startsAt'>[]): string {
  return limits
    .map(({ ownerId, startsAt }) => nameOf(ownerId, startsAt))
    .toSorted()
    .join(', ')
}

export function windowsIn(countedIn: string | null): Pick<SimLimit, 'ownerId' | 'startsAt'>[] {
  if (countedIn === null) return []
  const named = JSON.parse(countedIn) as Record<string, number>
  return Object.entries(named).map(([ownerId, startsAt]) => ({ ownerId, startsAt }))
}

function nameOf(ownerId: string, startsAt: number): string {
  return `${ownerId} since ${startsAt}`
}

/** Returns the current limits of the windows that a turn counts in; Infinity for a removed limit. */
export function limitsNamed(person: SimPerson, countedIn: string | null): SimLimit[] {
  return windowsIn(countedIn).map((window) => {
    const spend = person.keys.find(({ countsAs }) => countsAs === window.ownerId)?.spend
    const amount = window.ownerId === person.userId ? spendPerDayOf(person) : spend?.amount
    return { ...window, reset: 'never', amount: amount ?? Infinity }
  })
}

/** Changes the amount charged in the windows that a task or turn names. */
export function chargeIn(
  { spent, windows }: SimState,
  countedIn: string | null,
  of: { amount: number; now: number; createdAt: number },
): void {
  for (const { ownerId, startsAt } of windowsIn(countedIn)) {
    const name = nameOf(ownerId, startsAt)
    const known = windows.get(name)
    windows.set(name, { ...known, charged: (known?.charged ?? 0) + of.amount, changedAt: of.now })
    spent.push({ ownerId, startsAt, amount: of.amount, createdAt: of.createdAt })
  }
}

export class HeldInWindows {
  #held = new Map<string, number>()
  #turns: readonly TurnRow[] = []

  isNow(openTurns: readonly TurnRow[]): void {
    this.#held = new Map()
    this.#turns = openTurns
    for (const { counted_in: countedIn, held } of openTurns) {
      for (const { ownerId, startsAt } of windowsIn(countedIn)) {
        const name = nameOf(ownerId, startsAt)
        this.#held.set(name, (this.#held.get(name) ?? 0) + held)
      }
    }
  }

  /**
   * Returns the smallest amount left within the limits: negative if a limit was lowered below the spend, Infinity
   * without limits.
   */
  left({ windows }: SimState, limits: readonly SimLimit[]): number {
    const leftOf = ({ amount, ownerId, startsAt }: SimLimit) => {
      const name = nameOf(ownerId, startsAt)
      const { carried = 0, charged = 0 } = windows.get(name) ?? {}
      return amount - charged - carried - (this.#held.get(name) ?? 0)
    }
    return Math.min(Infinity, ...limits.map(leftOf))
  }

  /** Carries over the amount spent or held so far in the current period when a key's limit gets a new period. */
  carryOver(
    { spent, windows }: SimState,
    { ownerId, reset }: { ownerId: string; reset: SimSpend['reset'] },
    now: number,
  ) {
    const startsAt = startOf(reset, now)
    const name = nameOf(ownerId, startsAt)
    let carried = 0
    for (const one of spent) {
      if (one.ownerId === ownerId && one.startsAt !== startsAt && one.createdAt >= startsAt) carried += one.amount
    }
    for (const { counted_in: countedIn, created_at: createdAt, held } of this.#turns) {
      if (createdAt < startsAt) continue
      const counts = windowsIn(countedIn).some((one) => one.ownerId === ownerId && one.startsAt !== startsAt)
      if (counts) carried += held
    }
    windows.set(name, { charged: 0, changedAt: now, ...windows.get(name), carried })
  }

  check(checks: Checks, { rows, state }: { rows: readonly WindowRow[]; state: SimState }, now: number): void {
    const found = new Set<string>()
    for (const { charged, held, owner_id: ownerId, starts_at: startsAt } of rows) {
      const name = nameOf(ownerId, startsAt)
      found.add(name)
      checks.same(
        [charged, held],
        [state.windows.get(name)?.charged ?? 0, this.#held.get(name) ?? 0],
        `what is charged and held of ${name}`,
      )
    }
    for (const [name, { changedAt, charged }] of state.windows) {
      if (found.has(name) || charged === 0 || now - changedAt > keptMs) continue
      const tokenExpiresAt = state.clientTokens.get(name.split(' ')[0]!)?.expiresAt ?? Infinity
      if (now - tokenExpiresAt >= tokenKeptMs) continue
      checks.that(false, `${charged} of ${name} are not counted`)
    }
  }
}

function mostAtWork({ plan }: SimPerson): number {
  return (plan === null ? null : simPlans[plan].tasksAtWork) ?? Infinity
}

/** Tracks the number of started tasks per user, whether running or waiting for another attempt. */
export class TasksAtWork {
  readonly #checks: Checks
  #begun: Map<string, number> | undefined

  constructor(checks: Checks) {
    this.#checks = checks
  }

  isAtLimit(person: SimPerson): boolean {
    return (this.#begun?.get(person.userId) ?? 0) >= mostAtWork(person)
  }

  /** Checks that no more tasks start than a plan allows. Tasks started before a plan change may keep running. */
  areNow(people: readonly SimPerson[], { openTasks, tasks }: Pick<SeenRows, 'openTasks' | 'tasks'>): void {
    const before = this.#begun
    const begun = (this.#begun = new Map<string, number>())
    for (const id of openTasks) {
      const { status, user_id: userId } = tasks.get(id)!
      if (status === 'processing') begun.set(userId, (begun.get(userId) ?? 0) + 1)
    }
    if (!before) return
    for (const person of people) {
      const [count, most] = [begun.get(person.userId) ?? 0, mostAtWork(person)]
      const holds = count <= Math.max(before.get(person.userId) ?? 0, most)
      this.#checks.that(holds, () => `${count} tasks of ${person.userId} are begun, of ${most}`)
    }
  }
}
