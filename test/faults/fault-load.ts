import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { say } from '../support/chat-agents.ts'
import { ChatReader } from '../support/chat-reader.ts'
import type { Credits } from './credits.ts'
import type { Payments } from './payments.ts'
import { openAccountAt } from './fault-place.ts'
import type { Random } from './fault-report.ts'
import type { Place } from './row-source.ts'
import { until } from '../support/until.ts'

export type Account = { userId: string; key: string }
export type Reply = { status: number; body: any }

/** Test agents that record their runs. */
export const notedAgents = fileURLToPath(new URL('./noted-agents.ts', import.meta.url))

export function openRichAccount(place: Place, email = 'person@example.com'): Promise<Account> {
  return openAccountAt(place, email, 10_000_000_000)
}

const letInMsMax = 20_000
const sentTwiceEvery = 6

/** On a busy machine, a server may reject requests that it would answer too late. */
function isOverload({ body, status }: Reply): boolean {
  return status === 503 && /overloaded/.test(body.message)
}

type Create = { account: Account; idempotencyKey: string; endpointId: string; params: object }

const retriedEndpoints = ['noted.again', 'noted.twice'] as const

/**
 * Returns the endpoint and params of the nth task: short and long runs, some of them retryable, failing, or with large
 * payloads.
 */
function work(n: number, { notes, slowness = 1 }: LoadParts): [string, object] {
  const shortMs = (30 + (n % 7) * 50) * slowness
  const longMs = (20 + (n % 5) * 40) * slowness
  const kinds: [string, object][] = [
    ['test.echo', { n }],
    notes === undefined ? ['test.wait', { ms: shortMs }] : ['noted.once', { ms: shortMs, file: notes }],
    notes === undefined ? ['test.retried', { ms: longMs }] : [retriedEndpoints[n % 2]!, { ms: longMs, file: notes }],
    ['test.fail', { message: `failure ${n}` }],
    ['test.echo', { n, text: largeText }],
    ...(notes === undefined ? [] : [meteredWork({ ms: shortMs, file: notes, pages: n % (meteredPagesMax + 1) })]),
  ]
  return kinds[n % kinds.length]!
}

/** The number of pages at which a metered run reaches its maximum cost. */
const meteredPagesMax = 10
/** Units per page of a metered run. */
export const pagePrice = 10

function meteredWork(params: { ms: number; file: string; pages: number }): [string, object] {
  return ['noted.metered', params]
}

export const largeText = 'x'.repeat(20_000)

export const retriesOf: Readonly<Record<string, number>> = {
  'test.retried': 2,
  'noted.again': 2,
  'noted.twice': 1,
  'noted.metered': 1,
}

const replySteps = say(
  { do: 'text', delta: 'Some words. ', times: 20 },
  { do: 'wait', ms: 15 },
  { do: 'text', delta: 'The end.' },
)

export async function call(url: string, { key }: Account, [method, path, body, headers]: CallOf): Promise<Reply> {
  const response = await fetch(url + path, {
    method,
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  return { status: response.status, body: await response.json() }
}
type CallOf = [method: string, path: string, body?: unknown, headers?: Record<string, string>]

type LoadOptions = {
  /** Additional error statuses that the fault may cause. */
  refusals?: readonly number[]
  clients?: number
  talkers?: number
  /** Pause of each client after an accepted request. */
  pauseMs?: number
  /** Ends the load while the server keeps running. */
  signal?: AbortSignal
}

/** Other participants of a load besides its first account, and settings. */
type LoadParts = {
  /** More accounts with ample balance. */
  others?: readonly Account[]
  /** An account that requests more than its credits pay for. */
  poor?: { account: Account; credits: Credits }
  /** An account that tops up and spends within limits. The server must be started with `payments.env`. */
  payments?: Payments
  /** File for the agents' notes. The server must be started with `notedAgents`. */
  notes?: string
  /** Multiplies the usual run times. */
  slowness?: number
}

/** An ended task as a client saw it, which never changes again. */
type End = { status: string; completedAt: string; costUsd: string }

/**
 * Loads a server with tasks and chats of some accounts, and records the responses. Everything acknowledged must be
 * durable.
 */
export class FaultLoad {
  readonly account: Account
  readonly parts: LoadParts
  /** Endpoint of every task answered with 200. */
  readonly accepted = new Map<string, string>()
  /** User of every task answered with 200. */
  readonly owners = new Map<string, string>()
  /** Charges in final `done` events, by session. */
  readonly charged = new Map<string, string[]>()
  readonly ended = new Map<string, End>()
  /** Tasks for which a cancel was requested. Such a task may fail because of it. */
  readonly canceled = new Set<string>()
  readonly unexpected: string[] = []
  readonly wholePayloads = new Set<string>()
  /**
   * For each restart: the number of tasks found running, the times until the server listened and until those tasks had
   * ended, and how long the process waited for a CPU meanwhile.
   */
  readonly restarts: { left: number; startMs: number; endedMs: number; waitedMs: number }[] = []
  refused = 0
  /** Number of streams that ended without a final event, for example because of a kill. */
  cut = 0
  /** Number of requests that were sent twice and got two responses. */
  repeated = 0
  /** Requests without a response, each of which may have created a task. */
  #unknown: Create[] = []
  #sent: number
  readonly #random: Random

  constructor(account: Account, random: Random, parts: LoadParts = {}) {
    this.account = account
    this.parts = parts
    this.#random = random
    this.#sent = random.below(5)
  }

  /** Creates tasks and chats until the server is gone or the signal fires. */
  async run(url: string, options: LoadOptions = {}): Promise<void> {
    const { clients = 6, talkers = 2 } = options
    const accounts = [this.account, ...(this.parts.others ?? [])]
    const some = (count: number, work: (account: Account) => Promise<void>) =>
      Array.from({ length: count }, (_, n) => work(accounts[n % accounts.length]!))
    await Promise.all([
      ...some(clients, (account) => this.#createUntilGone(url, account, options)),
      ...some(talkers, (account) => this.#talkUntilGone(url, account, options)),
      ...some(1, (account) => this.#watchUntilGone(url, account, options)),
      ...some(1, (account) => this.#cancelUntilGone(url, account, options)),
      this.#spendUntilGone(url, options),
      this.#payUntilGone(url, options),
    ])
  }

  /**
   * Repeats requests with their idempotency keys, as clients do after a lost response. Each must result in one task.
   */
  async repeatUnknown(url: string): Promise<void> {
    const creates = this.#unknown
    this.#unknown = []
    await this.parts.poor?.credits.repeatUnknown(url)
    await this.parts.payments?.repeatUnanswered(url)
    for (const create of creates) {
      let answer: Reply | undefined
      await until('a repeated request is let in', letInMsMax, async () => {
        answer = await this.#send(url, create)
        return !answer || !isOverload(answer)
      })
      // The original created no task, because the service checks a known key before the price.
      if (answer && this.#isPoor(create, answer)) continue
      if (answer?.status !== 200) throw new Error(`a repeated request was answered ${JSON.stringify(answer)}`)
    }
  }

  async create(url: string): Promise<number | undefined> {
    const create = this.#next()
    let answer: Reply | undefined
    await until('a request is let in', letInMsMax, async () => {
      answer = await this.#send(url, create)
      return !answer || !isOverload(answer)
    })
    if (!answer || answer.status === 503) this.#unknown.push(create)
    return answer?.status
  }

  #next(account = this.account): Create {
    const [endpointId, params] = work(this.#sent++, this.parts)
    return { account, idempotencyKey: randomUUID(), endpointId, params }
  }

  #isPoor({ account }: Create, answer: Reply): boolean {
    const { payments, poor } = this.parts
    if (account === payments?.account) return payments.isRefusal(answer)
    return account === poor?.account && answer.status === 403 && /balance/i.test(answer.body.message)
  }

  async #create(url: string, create: Create): Promise<Reply | undefined> {
    const answer = await this.#send(url, create)
    // A 503 is inconclusive, too: it asks the client to retry with the same key.
    if (!answer || answer.status === 503) this.#unknown.push(create)
    return answer
  }

  async #send(url: string, create: Create): Promise<Reply | undefined> {
    const { account, endpointId, idempotencyKey, params } = create
    const headers = { 'Idempotency-Key': idempotencyKey }
    const request = call(url, account, ['POST', '/api/tasks', { endpointId, params }, headers])
    const answer = await request.catch(() => undefined)
    if (answer?.status === 200) {
      this.accepted.set(answer.body.taskId, endpointId)
      this.owners.set(answer.body.taskId, account.userId)
    }
    return answer
  }

  async #createUntilGone(url: string, account: Account, options: LoadOptions): Promise<void> {
    for (let n = 1; !options.signal?.aborted; n++) {
      const create = this.#next(account)
      // Some requests are sent twice in parallel, as by an impatient client. Both responses must name the same task.
      const [answer, again] = await Promise.all([
        this.#create(url, create),
        n % sentTwiceEvery === 0 ? this.#send(url, create) : undefined,
      ])
      if (!answer) return
      if (answer.status === 200 && again?.status === 200) {
        this.repeated++
        if (answer.body.taskId !== again.body.taskId) this.unexpected.push(`two tasks of ${create.idempotencyKey}`)
      }
      if (!(await this.#isExpected(answer, options))) return
      if (options.pauseMs !== undefined) await delay(options.pauseMs)
    }
  }

  /** Returns whether the load continues after this response. Pauses briefly after a rejection. */
  async #isExpected(answer: Reply, { refusals = [] }: LoadOptions): Promise<boolean> {
    const { body, status } = answer
    if (status === 200) return true
    if (!isOverload(answer)) {
      this.refused++
      if (!refusals.includes(status)) {
        this.unexpected.push(`POST /api/tasks: ${status} ${body.message}`)
        return false
      }
    }
    await delay(20)
    return true
  }

  /** Repeatedly adds a small credit and sends more concurrent tasks than it pays for. */
  async #spendUntilGone(url: string, options: LoadOptions): Promise<void> {
    if (!this.parts.poor) return
    const { account, credits } = this.parts.poor
    while (!options.signal?.aborted) {
      const status = await credits.give(url, '0.0300')
      if (status === undefined) return
      if (status !== 200 && status !== 503) return void this.unexpected.push(`POST /api/users/…/credit: ${status}`)
      const creates = Array.from({ length: 5 }, () => this.#next(account))
      const answers = await Promise.all(creates.map((create) => this.#create(url, create)))
      for (const [n, answer] of answers.entries()) {
        if (!answer) return
        if (!this.#isPoor(creates[n]!, answer) && !(await this.#isExpected(answer, options))) return
      }
      await delay(50)
    }
  }

  /** Repeatedly pays, spends up to and beyond the key's limits, and has payments reversed. */
  async #payUntilGone(url: string, options: LoadOptions): Promise<void> {
    const { payments } = this.parts
    while (payments && !options.signal?.aborted) {
      const topupId = await payments.pay(url)
      if (topupId === undefined) return
      const creates = Array.from({ length: 6 }, () => this.#next(payments.account))
      const spent = Promise.all(creates.map((create) => this.#create(url, create)))
      if (this.#random.below(3) > 0) await spent
      if (topupId !== null && !(await payments.takeBack(url, topupId, this.#random))) return void (await spent)
      for (const [n, answer] of (await spent).entries()) {
        if (!answer) return
        if (this.#isPoor(creates[n]!, answer)) await payments.raiseCap(url)
        else if (!(await this.#isExpected(answer, options))) return
      }
      await delay(20)
    }
  }

  /** Keeps rereading the newest tasks. Those that have ended must not change. */
  async #watchUntilGone(url: string, account: Account, { signal }: LoadOptions): Promise<void> {
    while (!signal?.aborted) {
      const answer = await call(url, account, ['GET', '/api/tasks?limit=50']).catch(() => undefined)
      if (!answer) return
      for (const { completedAt, costUsd, id, status } of answer.body.tasks ?? []) {
        if (completedAt !== undefined) this.#saw(id, { status, completedAt, costUsd })
      }
      await delay(50)
    }
  }

  /** Occasionally cancels one of the newest tasks, regardless of its state. */
  async #cancelUntilGone(url: string, account: Account, { signal }: LoadOptions): Promise<void> {
    for (let n = 1; !signal?.aborted; n++) {
      await delay(30 + (n % 5) * 10)
      const own = [...this.accepted.keys()].slice(-12).filter((id) => this.owners.get(id) === account.userId)
      // If there is no task yet, an unknown id shows whether the server is still up.
      const taskId = own[(n * 5) % Math.max(1, own.length)] ?? 'task_0'
      this.canceled.add(taskId)
      const answer = await call(url, account, ['POST', `/api/tasks/${taskId}/cancel`]).catch(() => undefined)
      if (!answer) return
      const { completedAt, costUsd, status } = answer.body
      if (answer.status === 200) this.#saw(taskId, { status, completedAt, costUsd })
      // 409 means that the run already has a charged event and cannot be canceled.
      else if (!isOverload(answer) && ![409, 503].includes(answer.status) && taskId !== 'task_0')
        this.unexpected.push(`a cancel: ${answer.status}`)
    }
  }

  #saw(taskId: string, end: End): void {
    const [earlier, now] = [JSON.stringify(this.ended.get(taskId) ?? end), JSON.stringify(end)]
    if (earlier !== now) this.unexpected.push(`${taskId} was ${earlier} and is ${now}`)
    this.ended.set(taskId, end)
  }

  async #talkUntilGone(url: string, account: Account, options: LoadOptions): Promise<void> {
    try {
      while (!options.signal?.aborted && (await this.#talk(url, account, options)));
    } catch {
      // The server is gone. The outcome of unanswered requests is unknown.
    }
  }

  /** Chats in a new session until one of the chats cannot continue. */
  async #talk(url: string, account: Account, options: LoadOptions): Promise<boolean> {
    const session = await call(url, account, ['POST', '/api/sessions', { agentId: 'talk' }])
    if (session.status !== 200) {
      const isKnown = isOverload(session) || options.refusals?.includes(session.status) === true
      if (!isKnown) this.unexpected.push(`POST /api/sessions: ${session.status}`)
      await delay(50)
      return isKnown
    }
    const { sessionId } = session.body
    while (!options.signal?.aborted && (await this.#chat(url, { account, sessionId }, options)));
    return (options.refusals ?? []).length > 0
  }

  async #chat(
    url: string,
    { account, sessionId }: { account: Account; sessionId: string },
    { refusals = [] }: LoadOptions,
  ): Promise<boolean> {
    const reader = await ChatReader.open({ url, key: account.key, body: { sessionId, message: replySteps } })
    const end = await reader.end()
    if (reader.status !== 200) {
      // A turn is in progress until the server has stored its end.
      const isBusy = reader.status === 409 && refusals.length > 0
      const isKnown =
        isBusy || refusals.includes(reader.status) || isOverload({ status: reader.status, body: end ?? {} })
      if (!isKnown) this.unexpected.push(`POST /api/chat: ${reader.status}`)
      await delay(20)
      return isKnown
    }
    if (end?.type !== 'done' && end?.type !== 'error') this.cut++
    if (end?.type !== 'done') return end !== undefined && refusals.length > 0
    this.charged.set(sessionId, [...(this.charged.get(sessionId) ?? []), end.costUsd])
    return true
  }
}
