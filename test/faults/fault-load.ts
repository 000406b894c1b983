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

/** The agents of a load that counts its runs. */
export const notedAgents = fileURLToPath(new URL('./noted-agents.ts', import.meta.url))

/** An account that no load uses up. */
export function openRichAccount(place: Place, email = 'person@example.com'): Promise<Account> {
  return openAccountAt(place, email, 10_000_000_000)
}

const letInMsMax = 20_000
const sentTwiceEvery = 6

/** On a busy machine a server may refuse what it would answer too late. */
function isOverload({ body, status }: Reply): boolean {
  return status === 503 && /overloaded/.test(body.message)
}

type Create = { account: Account; idempotencyKey: string; endpointId: string; params: object }

const retriedEndpoints = ['noted.again', 'noted.twice'] as const

/** Short and long runs, some that may be repeated, some that fail, some with large payloads. */
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

/** So many pages come to the most that a metered run may cost. */
const meteredPagesMax = 10
/** In units, of a metered run. */
export const pagePrice = 10

function meteredWork(params: { ms: number; file: string; pages: number }): [string, object] {
  return ['noted.metered', params]
}

/** Of every large payload of a load. */
export const largeText = 'x'.repeat(20_000)

/** How often a run may be made again after an interruption. */
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
  /** Statuses other than 200 that a request may be refused with while the fault lasts. */
  refusals?: readonly number[]
  clients?: number
  talkers?: number
  /** How long each client rests after a request that was accepted. */
  pauseMs?: number
  /** Ends the load of a server that lives. */
  signal?: AbortSignal
}

/** Who takes part in a load beside its first account, and how. */
type LoadParts = {
  /** More accounts that no load uses up. */
  others?: readonly Account[]
  /** One that spends what it is credited, and asks for more than it has. */
  poor?: { account: Account; credits: Credits }
  /** One who pays and spends within limits; the server has to be started with its variables. */
  payments?: Payments
  /** The file in which agents note their runs; the server has to be started with `notedAgents`. */
  notes?: string
  /** How many times as long as usual runs take. */
  slowness?: number
}

/** What a client has once seen of a task that has ended, which never changes again. */
type End = { status: string; completedAt: string; costUsd: string }

/** Tasks and chats of some accounts, and what their clients know of them: what was acknowledged must be kept. */
export class FaultLoad {
  readonly account: Account
  readonly parts: LoadParts
  /** The endpoint of every task that was answered 200. */
  readonly accepted = new Map<string, string>()
  /** Who was answered so. */
  readonly owners = new Map<string, string>()
  /** What each session's clients saw charged: a `done` was its last line. */
  readonly charged = new Map<string, string[]>()
  /** How tasks had ended when a client read them. */
  readonly ended = new Map<string, End>()
  /** Tasks that a client has asked to cancel: these may have failed by that. */
  readonly canceled = new Set<string>()
  readonly unexpected: string[] = []
  readonly wholePayloads = new Set<string>()
  /**
   * Of every restart: how many tasks it found at work, when it listened, when these had ended, and for how
   * long of that the process waited for a processor.
   */
  readonly restarts: { left: number; startMs: number; endedMs: number; waitedMs: number }[] = []
  refused = 0
  /** Streams that ended without their last line, as those of a killed server do. */
  cut = 0
  /** Requests that were sent twice and answered twice. */
  repeated = 0
  /** Sent and never answered: nobody knows whether these are tasks. */
  #unknown: Create[] = []
  #sent: number
  readonly #random: Random

  constructor(account: Account, random: Random, parts: LoadParts = {}) {
    this.account = account
    this.parts = parts
    this.#random = random
    this.#sent = random.below(5)
  }

  /** Tasks and chats until the server is gone or the signal fires. */
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

  /** As a client does after a lost answer: the same requests with their keys, each of which is one task. */
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
      // It was no task, or its key would have been answered before its price was asked for.
      if (answer && this.#isPoor(create, answer)) continue
      if (answer?.status !== 200) throw new Error(`a repeated request was answered ${JSON.stringify(answer)}`)
    }
  }

  /** One task; resolves with the status, or undefined when nobody answered. */
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
    // A 503 says so too: it tells to repeat the request with its key.
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
      // Now and then a request is sent twice at once, as an impatient client does: both answers name one task.
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

  /** Whether the load goes on after that answer; it waits a little after a refusal. */
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

  /** More tasks at once than what the account was credited pays for. */
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

  /** Pays, spends within the limits of a key what was paid and more, and has it taken back. */
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

  /** Reads the newest tasks again and again: one that has ended stays as it is. */
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

  /** Cancels one of the newest tasks now and then, whatever has become of it. */
  async #cancelUntilGone(url: string, account: Account, { signal }: LoadOptions): Promise<void> {
    for (let n = 1; !signal?.aborted; n++) {
      await delay(30 + (n % 5) * 10)
      const own = [...this.accepted.keys()].slice(-12).filter((id) => this.owners.get(id) === account.userId)
      // While there is none, another id tells whether the server is still there.
      const taskId = own[(n * 5) % Math.max(1, own.length)] ?? 'task_0'
      this.canceled.add(taskId)
      const answer = await call(url, account, ['POST', `/api/tasks/${taskId}/cancel`]).catch(() => undefined)
      if (!answer) return
      const { completedAt, costUsd, status } = answer.body
      if (answer.status === 200) this.#saw(taskId, { status, completedAt, costUsd })
      // A run that has charged an event keeps its charge.
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
      // The server is gone; what was not answered is not known.
    }
  }

  /** Chats in a session of its own, until one of them cannot go on. */
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
      // A turn whose end could not be stored yet is under way.
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
