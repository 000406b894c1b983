import type { RowEvents } from './row-audit.ts'
import type { TaskRow, TopupRow, TransactionRow, TurnRow } from './audit-rows.ts'
import { countsIn, receiptCost, unitsOfUsd, type ChatReceipt } from './chat-cost.ts'
import { simPrices, simRatesOf, simRetries } from './sim-agents.ts'
import type { Checks } from './sim-checks.ts'
import { endOf, pickTokens, responseOf } from './task-model.ts'
import type { GateEnd } from './sim-gates.ts'
import { chargeIn, countedText, HeldInWindows, limitsNamed, limitsOf, windowsIn, type Spender } from './limit-model.ts'
import { accountOf, checkPosted, checkTopup, disputedOf, isIn, worthOf } from './payment-model.ts'
import { rechargeUnderWay, simTopups, takeRecharge, type MadeCharge } from './recharge-model.ts'
import {
  type AskedTask,
  type ExpectedTurn,
  type ProviderState,
  type SimKey,
  type SimPerson,
  type SimSession,
  type SimState,
  type SimSpend,
} from './sim-state.ts'

const dayMs = 86_400_000
export const minuteMs = 60_000
const timeoutMs = 300_000
const limits = { executions: 10, failures: 10, windowMs: 600_000, blockSeconds: 600, blockSecondsMax: 3600 }

/**
 * Predicts the service's responses and state. It keeps accounts at the agents' prices, predicts each response before
 * the request is sent, and with `take` compares the rows of tasks and turns with the requests.
 */
export class SimModel {
  state: SimState = {
    people: [],
    erased: [],
    trials: new Set(),
    tasks: new Map(),
    sessions: new Map(),
    links: [],
    invitations: [],
    platformKeys: [],
    topups: new Map(),
    topupKeys: new Map(),
    windows: new Map(),
    clientTokens: new Map(),
    spent: [],
  }
  readonly asked = new Map<number, AskedTask>()
  /** Admin credits requested, by user. Each credit row must match one. */
  readonly askedCredits = new Map<string, number[]>()
  readonly gateEnds = new Map<string, GateEnd>()
  readonly expectedTurns = new Map<string, ExpectedTurn>()
  /** Chats without a session that were sent but whose turns have not been seen yet, by user. */
  readonly sentAlone = new Map<string, { left: number; outcomes: ExpectedTurn['outcomes']; countedIn: Set<string> }>()
  /** Windows that chats may count in, by session. */
  readonly #countedIn = new Map<string, Set<string>>()
  /** Number of events in flight, by top-up. */
  readonly refreshing = new Map<string, number>()
  readonly #held = new HeldInWindows()
  /** Set after a crash during requests: tasks that have not been seen yet may be interrupted. */
  areNewInterrupted = false
  debts = 0
  /** Set once auto-recharge has polled balances. */
  withRecharges = false
  chargesOf: (topupId: string) => readonly MadeCharge[] = () => []
  /** Returns all states of a payment at the provider, oldest first. */
  historyOf: (topupId: string) => readonly ProviderState[] = () => []
  /** Whether the provider still has the payment method. Restoring a backup does not bring it back. */
  isMethodKept: (topupId: string) => boolean = () => true
  readonly #checks: Checks
  /** Whether the clock may move between the claim of a task and its run, which may make the task time out. */
  readonly #claimsTakeTime: boolean
  constructor(checks: Checks, { claimsTakeTime }: { claimsTakeTime: boolean }) {
    this.#checks = checks
    this.#claimsTakeTime = claimsTakeTime
  }

  person(userId: string): SimPerson {
    const found = this.ofUser(userId)
    if (!found) throw new Error(`nobody has the id ${userId}`)
    return found
  }

  ofUser(userId: string): SimPerson | undefined {
    const { erased, people } = this.state
    return [...people, ...erased].find((person) => person.userId === userId)
  }

  used(person: SimPerson, now: number): number {
    return person.executions.filter((at) => at > now - minuteMs).length
  }

  isBlocked(person: SimPerson, now: number): boolean {
    return person.blockedUntil > now
  }

  /** Returns the status that an invalid credential gets before any other check; 0 if the credential is valid. */
  refusedCredential(person: SimPerson, key: SimKey | null, now: number): 0 | 401 | 403 {
    if (key && (key.isRevoked || (key.expiresAt !== null && key.expiresAt <= now))) return 401
    return person.isSuspended ? 403 : 0
  }

  leftOf(spender: Spender, now: number): number {
    return this.#held.left(this.state, limitsOf(spender, now))
  }

  /** Returns the amount currently left within the limits that a turn counts in. */
  leftInNamed(person: SimPerson, countedIn: string | null): number {
    return this.#held.left(this.state, limitsNamed(person, countedIn))
  }

  carryOver(of: { ownerId: string; reset: SimSpend['reset'] }, now: number): void {
    this.#held.carryOver(this.state, of, now)
  }

  sent(asked: AskedTask, spender: Spender, now: number): void {
    this.asked.set(asked.n, asked)
    const limits = simPrices[asked.endpointId] === 0 ? [] : limitsOf(spender, now)
    asked.countedIn.add(countedText(limits))
  }

  /** Records a chat sent without a session. It opens at most one turn, no matter how often it is repeated. */
  aloneSent({ person, key }: Spender, outcomes: ExpectedTurn['outcomes'], now: number): void {
    const known = this.sentAlone.get(person.userId) ?? { left: 0, outcomes: [], countedIn: new Set<string>() }
    const countedIn = known.countedIn.add(countedText(limitsOf({ person, key }, now)))
    const { userId } = person
    this.sentAlone.set(userId, { left: known.left + 1, outcomes: [...known.outcomes, ...outcomes], countedIn })
  }

  chatSent(sessionId: string, spender: Spender, now: number): void {
    const known = this.#countedIn.get(sessionId) ?? new Set()
    this.#countedIn.set(sessionId, known.add(countedText(limitsOf(spender, now))))
  }

  /** Returns the expected response to a task request. `replays`: id of the first request's task. */
  foreseeTask(asked: AskedTask, spender: Spender, now: number): { status: number; error?: string; replays?: string } {
    const { person } = spender
    const earlier = asked.key === null ? undefined : person.taskKeys.get(asked.key)
    if (earlier && now - earlier.at < dayMs) {
      return earlier.body === asked.body ? { status: 200, replays: earlier.taskId } : { status: 409, error: 'Conflict' }
    }
    const isBlocked = this.isBlocked(person, now) || (asked.tools && person.connectorsBlockedUntil > now)
    if (isBlocked) return { status: 403, error: 'Forbidden' }
    if (this.used(person, now) >= limits.executions) return { status: 429, error: 'Rate limit exceeded' }
    const price = simPrices[asked.endpointId]
    if (price > 0 && price > this.leftOf(spender, now)) return { status: 403, error: 'Limit reached' }
    const free = person.balance - person.held
    if (person.owed > 0 || free < price) return { status: 403, error: 'Insufficient balance' }
    return { status: 200 }
  }

  sessionStatus(session: SimSession, hasChat: boolean, now: number): 'active' | 'completed' | 'expired' {
    if (session.isCompleted) return 'completed'
    if (hasChat) return 'active'
    return session.activeAt <= now - dayMs ? 'expired' : 'active'
  }

  /** Applies the changes in the rows to the model, and checks that each change was allowed. */
  take(events: RowEvents): void {
    this.#held.isNow(events.openTurns)
    for (const row of events.topups) {
      if (row.is_auto === 1) this.#recharged(row)
      this.#refreshed(row)
    }
    for (const row of events.newTasks) this.#created(row)
    for (const row of events.newTurns) this.#opened(row)
    for (const row of events.transactions) this.#posted(row, events)
    for (const row of events.endedTasks) this.#ended(row)
    for (const row of events.settledTurns) this.#settled(row, events)
    for (const row of events.topups) {
      checkTopup(this.#checks, { row, topup: this.state.topups.get(row.id)! }, this.#newest)
    }
    this.#held.check(this.#checks, { rows: events.windows, state: this.state }, this.#newest)
    for (const row of events.accounts) {
      const { balance, blocked_until: until, held, owed, user_id: userId } = row
      const person = this.ofUser(userId)
      if (!person) continue
      const account = accountOf({ held, worth: person.worth })
      if (person.owed === 0 && account.owed > 0) this.debts++
      Object.assign(person, { held, ...account })
      this.#checks.same([balance, owed], [person.balance, person.owed], `what ${userId} has and owes`)
      if ((until ?? -Infinity) > this.#newest || person.blockedUntil > this.#newest) {
        this.#checks.same(until, person.blockedUntil, `the block of ${userId}`)
      }
      this.#checks.same(row.platform_credited, person.platformCredited, `what platform keys credited to ${userId}`)
      const blocked = row.connectors_blocked_until ?? -Infinity
      if (Math.max(blocked, person.connectorsBlockedUntil) > this.#newest) {
        this.#checks.same(blocked, person.connectorsBlockedUntil, `the block of tasks with connectors of ${userId}`)
      }
    }
  }

  #newest = 0

  timeIs(now: number): void {
    this.#newest = now
  }

  /** Checks that a top-up matches a state of its payment at the provider, and not an older state than before. */
  #refreshed(row: TopupRow): void {
    const topup = this.#checks.present(this.state.topups.get(row.id), `the top-up ${row.id} was asked for`)
    if (isIn(topup, row)) return
    const history = this.historyOf(row.id)
    const at = history.findIndex((state, n) => n >= topup.at && isIn(state, row))
    // No state matches: the service closed the top-up because of its age, which `checkTopup` verifies.
    if (at < 0) return
    const person = this.person(topup.userId)
    const [worth, disputed] = [worthOf(topup), topup.isPaid ? disputedOf(topup) : 0]
    const wasUnderWay = rechargeUnderWay(this.state, person) === topup
    if (!topup.isPaid && history[at]!.isPaid && topup.saves && this.isMethodKept(row.id)) person.hasMethod = true
    const { disputes, hasExpired, hasFailed, isPaid, refunded } = history[at]!
    Object.assign(topup, { at, disputes: new Map(disputes), hasExpired, hasFailed, isPaid, refunded })
    person.worth += worthOf(topup) - worth
    // A declined recharge or a dispute disables auto-recharge.
    const isDeclined = wasUnderWay && topup.hasFailed
    if (isDeclined || (topup.isPaid && disputedOf(topup) > disputed)) person.recharge = null
  }

  #recharged(row: TopupRow): void {
    const { state } = this
    const charges = this.chargesOf(row.id)
    takeRecharge(this.#checks, { row, state, person: this.person(row.user_id), bounds: simTopups, charges })
  }

  #created(row: TaskRow): void {
    const n = Number(/^\{"n":(\d+)/.exec(row.request)?.[1])
    const asked = this.#checks.present(this.asked.get(n), `task ${row.id} was asked for`)
    const { endpointId, userId } = asked
    this.#checks.same(
      [row.user_id, row.endpoint_id, row.cost + row.given_back],
      [userId, endpointId, simPrices[endpointId]],
      `owner, endpoint and price of ${row.id}`,
    )
    if (row.request_payload === null)
      this.#checks.same(row.request, JSON.stringify(asked.params), `the request of ${row.id}`)
    this.#checks.same(row.tags, asked.tags ? JSON.stringify(asked.tags) : null, `the tags of ${row.id}`)
    const again = [...this.state.tasks.values()].find((task) => task.asked.n === n && asked.key !== null)
    this.#checks.that(
      !again || row.created_at - again.createdAt >= dayMs,
      `${row.id} repeats ${again?.id} with the same key`,
    )
    const person = this.person(userId)
    person.worth -= simPrices[endpointId]
    this.#checks.that(
      asked.countedIn.has(countedText(windowsIn(row.counted_in))),
      () => `${row.id} counts in ${row.counted_in}, and not in ${[...asked.countedIn].join(' or ')}`,
    )
    chargeIn(this.state, row.counted_in, {
      amount: simPrices[endpointId],
      now: row.created_at,
      createdAt: row.created_at,
    })
    person.executions = [...person.executions.slice(-50), row.created_at]
    if (asked.key !== null) person.taskKeys.set(asked.key, { body: asked.body, taskId: row.id, at: row.created_at })
    this.state.tasks.set(row.id, {
      id: row.id,
      asked,
      createdAt: row.created_at,
      status: 'pending',
      errorCode: null,
      attempt: 0,
      mayInterrupt: this.areNewInterrupted,
      mustEnd: false,
      isCanceled: false,
    })
  }

  #opened(row: TurnRow): void {
    const person = this.person(row.user_id)
    person.executions = [...person.executions.slice(-50), row.created_at]
    const alone = this.state.sessions.has(row.session_id) ? undefined : this.sentAlone.get(row.user_id)
    if (!this.state.sessions.has(row.session_id)) {
      this.#checks.that(alone !== undefined && alone.left-- > 0, `${row.id}, a turn without a session, was asked for`)
      this.expectedTurns.set(row.session_id, { outcomes: alone!.outcomes })
    }
    const countedIn = alone?.countedIn ?? this.#countedIn.get(row.session_id) ?? new Set([''])
    this.#checks.that(
      countedIn.has(countedText(windowsIn(row.counted_in))),
      () => `${row.id} counts in ${row.counted_in}, and not in ${[...countedIn].join(' or ')}`,
    )
  }

  #posted(row: TransactionRow, { endedTasks }: RowEvents): void {
    const person = this.ofUser(row.user_id)
    if (!person) return
    if (row.topup_id !== null) checkPosted(this.#checks, this.state, row)
    else if (row.type === 'credit' || (row.type === 'adjustment' && row.task_id === null)) this.#credited(person, row)
    if (row.type !== 'task_refund') return
    const task = endedTasks.find(({ id }) => id === row.task_id)
    const isCounted = task && task.error_code !== 'AGENT_INTERRUPTED' && task.started_at !== null
    if (!isCounted) return
    this.#countFailure(person, row.created_at)
    if (task.cancelable_until !== null && this.state.tasks.get(task.id)!.asked.tools)
      person.connectorsBlockedUntil = row.created_at + dayMs
  }

  askCredit(userId: string, amount: number): void {
    this.askedCredits.set(userId, [...(this.askedCredits.get(userId) ?? []), amount])
  }

  #credited(person: SimPerson, { amount, id, user_id: userId }: TransactionRow): void {
    const asked = this.askedCredits.get(userId) ?? []
    const at = asked.indexOf(amount)
    this.#checks.that(at >= 0, `the credit ${id} of ${amount} was asked for`)
    person.worth += asked.splice(at, 1)[0]!
  }

  #countFailure(person: SimPerson, now: number): void {
    person.failures = [...person.failures.filter((at) => now - at < limits.windowMs), now]
    if (person.failures.length < limits.failures) return
    const isRepeat = now - person.blockedAt < dayMs
    const seconds = isRepeat ? Math.min(person.blockSeconds * 2, limits.blockSecondsMax) : limits.blockSeconds
    const blockedUntil = Math.max(person.blockedUntil, now + seconds * 1000)
    Object.assign(person, { failures: [], blockedAt: now, blockSeconds: seconds, blockedUntil })
  }

  #ended(row: TaskRow): void {
    const task = this.state.tasks.get(row.id)!
    const { asked } = task
    const what = `the end of ${row.id} (${asked.endpointId})`
    task.status = row.status
    task.errorCode = row.error_code
    task.attempt = row.attempt
    const { cost, tokens, usage } = endOf(asked)
    const givenBack = simPrices[asked.endpointId] - (row.status === 'failed' ? 0 : cost)
    this.person(asked.userId).worth += givenBack
    chargeIn(this.state, row.counted_in, { amount: -givenBack, now: row.completed_at!, createdAt: row.created_at })
    const used = row.status === 'completed' ? (tokens ?? usage ?? null) : null
    const stored = row.usage === null ? null : { ...(JSON.parse(row.usage) as object) }
    const seen = tokens && stored ? pickTokens(stored) : stored
    this.#checks.same([row.cost, seen], [row.status === 'failed' ? simPrices[asked.endpointId] : cost, used], what)
    if (row.error_code === 'AGENT_INTERRUPTED') {
      this.#checks.that(task.mayInterrupt, `${what} is an interruption`)
      this.#checks.same(row.attempt, simRetries(asked.endpointId) + 1, `attempts of ${row.id}`)
      return
    }
    if (row.error_code === 'CONNECTORS_BLOCKED') {
      const { connectorsBlockedUntil } = this.person(asked.userId)
      this.#checks.that(connectorsBlockedUntil > row.completed_at!, `${what}: tasks with connectors are blocked`)
      return this.#checks.same(row.started_at, null, `the start of ${row.id}, which was blocked`)
    }
    if (row.error_code === 'CANCELED') return this.#checks.that(task.isCanceled, `${what} was asked for`)
    this.#checks.that(!task.mustEnd, `${what}: it was at work when the service ended`)
    const isLate = this.#claimsTakeTime && row.completed_at! - row.started_at! >= timeoutMs
    if (row.error_code === 'AGENT_TIMEOUT' && isLate) return
    const expected = { 'sim.fail': 'AGENT_ERROR', 'sim.failfree': 'AGENT_ERROR', 'sim.slow': 'AGENT_TIMEOUT' }
    let error = (expected as Record<string, string>)[asked.endpointId] ?? null
    if (asked.timeoutSeconds !== undefined && !asked.tools?.calls) error = 'AGENT_TIMEOUT'
    else if (asked.gate !== null) {
      const end = this.gateEnds.get(asked.gate)
      this.#checks.that(end !== undefined, `${what}: its gate was opened`)
      error = end === 'fail' ? 'AGENT_ERROR' : null
    }
    this.#checks.same(row.error_code, error, what)
    if (asked.tools) this.#checks.same(row.cancelable_until !== null, asked.tools.calls, `${what}: it called a tool`)
    if (row.response !== null && row.response_payload === null) {
      this.#checks.same(row.response, JSON.stringify(responseOf(asked)), `the response of ${row.id}`)
    }
  }

  #settled(row: TurnRow, { transactions }: RowEvents): void {
    const session = this.state.sessions.get(row.session_id)
    const what = `turn ${row.id} of ${row.session_id}`
    const expected = this.#checks.present(this.expectedTurns.get(row.session_id), `${what} was asked for`)
    const { outcome } = row
    this.#checks.that(
      outcome !== null && expected.outcomes.includes(outcome),
      `${what} ended ${outcome} instead of ${expected.outcomes.join(' or ')}`,
    )
    const charge = transactions.find(({ turn_id: turnId }) => turnId === row.id)
    const receipt = charge && (JSON.parse(charge.breakdown!) as ChatReceipt)
    this.#checks.same(row.max_cost, expected.maxCost ?? null, `the cap of ${what}`)
    if (receipt) {
      const chatCost = costOf(receipt, simRatesOf(session?.agentId ?? 'sim'))
      this.person(row.user_id).worth -= chatCost
      chargeIn(this.state, row.counted_in, {
        amount: chatCost,
        now: row.settled_at!,
        createdAt: row.created_at,
      })
      if (session) session.spent += chatCost
    }
    if (outcome === 'finished') {
      if (expected.receipt) this.#checks.same(countsIn(receipt), countsIn(expected.receipt), `the counts of ${what}`)
    }
    if (!session || outcome === 'failed') return
    session.messageCount += 2
    session.updatedAt = row.settled_at!
    session.activeAt = row.settled_at!
  }
}

/** Returns the cost of a receipt's counts at the agent's prices, not at those in the receipt. */
function costOf(receipt: ChatReceipt, rates: ReturnType<typeof simRatesOf>): number {
  const writtenOff = receipt.writtenOffUsd === undefined ? 0 : unitsOfUsd(receipt.writtenOffUsd)
  return receiptCost({ ...receipt, rates }) - writtenOff
}
