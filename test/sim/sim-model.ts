import type { RowEvents } from './row-audit.ts'
import type { TaskRow, TransactionRow, TurnRow } from './audit-rows.ts'
import { receiptCost, unitsOfUsd, type ChatReceipt } from './chat-cost.ts'
import { simEvents, simPrices, simPricing, simRetries } from './sim-agents.ts'
import type { Checks } from './sim-checks.ts'
import type { GateEnd } from './sim-gates.ts'
import {
  type AskedTask,
  type ExpectedTurn,
  type SimKey,
  type SimPerson,
  type SimSession,
  type SimState,
} from './sim-state.ts'

const dayMs = 86_400_000
export const minuteMs = 60_000
/** Of an endpoint that does not say another. */
const timeoutMs = 300_000
const limits = { executions: 10, failures: 10, windowMs: 600_000, blockSeconds: 600, blockSecondsMax: 3600 }

/**
 * What the service must answer and hold. Tasks and turns are told to it as rows (`take`), which it compares with what was
 * asked for; it keeps accounts of its own by the agents' prices, and foresees answers before a request is sent.
 */
export class SimModel {
  state: SimState = { people: [], tasks: new Map(), sessions: new Map(), links: [], invitations: [] }
  readonly asked = new Map<number, AskedTask>()
  /** Amounts that an admin asked to be credited, by user: a row of one must have been asked for. */
  readonly askedCredits = new Map<string, number[]>()
  readonly gateEnds = new Map<string, GateEnd>()
  readonly expectedTurns = new Map<string, ExpectedTurn>()
  /** A crash came in the middle of requests: tasks that nobody has seen yet may have been interrupted. */
  areNewInterrupted = false
  readonly #checks: Checks
  readonly #claimsTakeTime: boolean

  /** With `claimsTakeTime` the clock may be moved between the start of a task and that of its run, whose time may be up then. */
  constructor(checks: Checks, { claimsTakeTime }: { claimsTakeTime: boolean }) {
    this.#checks = checks
    this.#claimsTakeTime = claimsTakeTime
  }

  person(userId: string): SimPerson {
    const found = this.state.people.find((person) => person.userId === userId)
    if (!found) throw new Error(`nobody has the id ${userId}`)
    return found
  }

  ofUser(userId: string): SimPerson | undefined {
    return this.state.people.find((person) => person.userId === userId)
  }

  used(person: SimPerson, now: number): number {
    return person.executions.filter((at) => at > now - minuteMs).length
  }

  isBlocked(person: SimPerson, now: number): boolean {
    return person.blockedUntil > now
  }

  /** The status that a credential gets before anything else is looked at; 0 when it is good. */
  refusedCredential(person: SimPerson, key: SimKey | null, now: number): 0 | 401 | 403 {
    if (key && (key.isRevoked || (key.expiresAt !== null && key.expiresAt <= now))) return 401
    return person.isSuspended ? 403 : 0
  }

  /** What a request to create a task must be answered; `replays` names the task of the first one. */
  foreseeTask(person: SimPerson, asked: AskedTask, now: number): { status: number; error?: string; replays?: string } {
    const earlier = asked.key === null ? undefined : person.taskKeys.get(asked.key)
    if (earlier && now - earlier.at < dayMs) {
      return earlier.body === asked.body ? { status: 200, replays: earlier.taskId } : { status: 409, error: 'Conflict' }
    }
    if (this.isBlocked(person, now)) return { status: 403, error: 'Forbidden' }
    if (this.used(person, now) >= limits.executions) return { status: 429, error: 'Rate limit exceeded' }
    const free = person.balance - person.held
    if (free < simPrices[asked.endpointId]) return { status: 403, error: 'Insufficient balance' }
    return { status: 200 }
  }

  sessionStatus(session: SimSession, hasChat: boolean, now: number): 'active' | 'completed' | 'expired' {
    if (session.isCompleted) return 'completed'
    if (hasChat) return 'active'
    return session.activeAt <= now - dayMs ? 'expired' : 'active'
  }

  /** Takes over what the rows say has happened, each of which must have been allowed. */
  take(events: RowEvents): void {
    for (const row of events.newTasks) this.#created(row)
    for (const row of events.newTurns) this.#opened(row)
    for (const row of events.transactions) this.#posted(row, events)
    for (const row of events.endedTasks) this.#ended(row)
    for (const row of events.settledTurns) this.#settled(row, events)
    for (const { balance, blocked_until: until, held, user_id: userId } of events.accounts) {
      const person = this.ofUser(userId)
      if (!person) continue
      this.#checks.same(balance, person.balance, `the balance of ${userId}`)
      person.held = held
      if ((until ?? -Infinity) > this.#newest || person.blockedUntil > this.#newest) {
        this.#checks.same(until, person.blockedUntil, `the block of ${userId}`)
      }
    }
  }

  /** The service's time at the last look. */
  #newest = 0

  timeIs(now: number): void {
    this.#newest = now
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
    person.balance -= simPrices[endpointId]
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
  }

  #posted(row: TransactionRow, { endedTasks }: RowEvents): void {
    const person = this.ofUser(row.user_id)
    if (!person) return
    if (row.type === 'credit' || (row.type === 'adjustment' && row.task_id === null)) this.#credited(person, row)
    if (row.type !== 'task_refund') return
    const task = endedTasks.find(({ id }) => id === row.task_id)
    const isCounted = task && task.error_code !== 'AGENT_INTERRUPTED' && task.started_at !== null
    if (isCounted) this.#countFailure(person, row.created_at)
  }

  askCredit(userId: string, amount: number): void {
    this.askedCredits.set(userId, [...(this.askedCredits.get(userId) ?? []), amount])
  }

  #credited(person: SimPerson, { amount, id, user_id: userId }: TransactionRow): void {
    const asked = this.askedCredits.get(userId) ?? []
    const at = asked.indexOf(amount)
    this.#checks.that(at >= 0, `the credit ${id} of ${amount} was asked for`)
    person.balance += asked.splice(at, 1)[0]!
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
    const { cost, usage } = endOf(asked)
    this.person(asked.userId).balance += simPrices[asked.endpointId] - (row.status === 'failed' ? 0 : cost)
    const used = row.status === 'completed' && usage ? JSON.stringify(usage) : null
    this.#checks.same([row.cost, row.usage], [row.status === 'failed' ? simPrices[asked.endpointId] : cost, used], what)
    if (row.error_code === 'AGENT_INTERRUPTED') {
      this.#checks.that(task.mayInterrupt, `${what} is an interruption`)
      this.#checks.same(row.attempt, simRetries(asked.endpointId) + 1, `attempts of ${row.id}`)
      return
    }
    if (row.error_code === 'CANCELED') return this.#checks.that(task.isCanceled, `${what} was asked for`)
    this.#checks.that(!task.mustEnd, `${what}: it was at work when the service ended`)
    const isLate = this.#claimsTakeTime && row.completed_at! - row.started_at! >= timeoutMs
    if (row.error_code === 'AGENT_TIMEOUT' && isLate) return
    const expected = { 'sim.fail': 'AGENT_ERROR', 'sim.failfree': 'AGENT_ERROR', 'sim.slow': 'AGENT_TIMEOUT' }
    let error = (expected as Record<string, string>)[asked.endpointId] ?? null
    if (asked.gate !== null) {
      const end = this.gateEnds.get(asked.gate)
      this.#checks.that(end !== undefined, `${what}: its gate was opened`)
      error = end === 'fail' ? 'AGENT_ERROR' : null
    }
    this.#checks.same(row.error_code, error, what)
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
      this.person(row.user_id).balance -= chatCost(receipt)
      if (session) session.spent += chatCost(receipt)
    }
    if (outcome === 'finished') {
      for (const [name, value] of Object.entries(expected.receipt ?? {})) {
        this.#checks.same(receipt?.[name as 'toolCalls'], value, `${name} of ${what}`)
      }
    }
    if (!session || outcome === 'failed') return
    session.messageCount += 2
    session.updatedAt = row.settled_at!
    session.activeAt = row.settled_at!
  }
}

/** Of what a receipt counts, at the prices of the agent and not at those that the receipt says. */
function chatCost(receipt: ChatReceipt): number {
  const { inputPer1kUsd, cachedInputPer1kUsd, outputPer1kUsd, reasoningPer1kUsd, toolCallUsd } = simPricing
  const rates = { inputPer1kUsd, cachedInputPer1kUsd, outputPer1kUsd, reasoningPer1kUsd, toolCallUsd }
  const writtenOff = receipt.writtenOffUsd === undefined ? 0 : unitsOfUsd(receipt.writtenOffUsd)
  return receiptCost({ ...receipt, rates }) - writtenOff
}

export function isOpen(status: TaskRow['status']): boolean {
  return status === 'pending' || status === 'processing'
}

/** What a completed task costs, and of a metered one how many of each event: as many as fit, pages first. */
export function endOf({ endpointId, params }: AskedTask): { cost: number; usage?: Record<string, number> } {
  const most = simPrices[endpointId]
  if (endpointId !== 'sim.metered') return { cost: most }
  const page = Math.min(Number(params['pages']), Math.floor(most / simEvents.page))
  const figure = Math.min(Number(params['figures']), Math.floor((most - page * simEvents.page) / simEvents.figure))
  const cost = page * simEvents.page + figure * simEvents.figure
  return { cost, usage: { ...(page > 0 && { page }), ...(figure > 0 && { figure }) } }
}

/** What the agent returns. */
export function responseOf({ endpointId, gate, params }: AskedTask): unknown {
  switch (endpointId) {
    case 'sim.echo':
      return params
    case 'sim.dear':
      return 'dear'
    case 'sim.size':
      return { text: String(params['lead']) + String(params['of']).repeat(Number(params['times'])) }
    case 'sim.held':
    case 'sim.retried':
      return { passed: gate }
    default:
      return {}
  }
}
