import { randomUUID } from 'node:crypto'
import { draftKey } from '../../server/auth/keys/manage-keys.ts'
import { formatUsd } from '../../server/kernel/money.ts'
import { learn, newTopup, worthOf, type SimChange } from '../sim/payment-model.ts'
import type { SimTopup } from '../sim/sim-state.ts'
import type { StubEvent } from '../payments/stripe-objects.ts'
import { StripeStub, stubKeys } from '../payments/stripe-stub.ts'
import { demand, demandEqual } from '../support/until.ts'
import { besidePlace, openAccountAt } from './fault-place.ts'
import type { Random } from './fault-report.ts'
import type { Place, RowSource } from './row-source.ts'

const centUnits = 100
const capStep = 2000
const openMin = 4

type Account = { userId: string; key: string }
/** A provider event that the service has not answered yet. */
type Told = { topupId: string; event: StubEvent; change: SimChange }
type Sent = 'answered' | 'refused' | 'gone'

/**
 * A user who pays and spends, has a key with a spend limit, and has payments reversed. Like the provider, it resends
 * events until they are answered.
 */
export class Payments {
  /** The user with the limited key. */
  readonly account: Account
  readonly stub: StripeStub
  readonly unexpected: string[] = []
  /** The same user with an unlimited key. */
  readonly manager: Account
  readonly #keyId: string
  /** Top-ups not yet paid. */
  readonly #open: string[] = []
  readonly #topups = new Map<string, SimTopup>()
  #unanswered: Told[] = []
  /** Events answered since the server's start, and in `#kept` those answered before it. Only the latter are resent. */
  readonly #answered: Told[] = []
  readonly #kept: Told[] = []
  /** The highest cap requested so far, whether or not it was answered. */
  #cap = capStep

  private constructor(stub: StripeStub, of: Record<'account' | 'manager', Account> & { keyId: string }) {
    this.stub = stub
    this.account = of.account
    this.manager = of.manager
    this.#keyId = of.keyId
  }

  static async open(place: Place): Promise<Payments> {
    const manager = await openAccountAt(place, 'payer@example.com', 0)
    const { userId } = manager
    const { key, token } = draftKey({ userId, name: 'limited', scopes: ['read', 'execute'], expiresAt: null })
    const { id: keyId } = await besidePlace(place, (store) => store.createKey({ ...key, spendLimit: capStep }))
    return new Payments(await StripeStub.start(), { account: { userId, key: token }, manager, keyId })
  }

  async stop(): Promise<void> {
    await this.stub.stop()
  }

  get env(): Record<string, string> {
    return {
      ERRAND_STRIPE_SECRET_KEY: stubKeys.secretKey,
      ERRAND_STRIPE_WEBHOOK_SECRET: stubKeys.webhookSecret,
      ERRAND_STRIPE_API_URL: this.stub.url,
    }
  }

  get credited(): number {
    return [...this.#topups.values()].filter(({ isPaid }) => isPaid).length
  }

  /**
   * Pays once and sends each event twice in parallel. Returns null if the service rejects it for now, and undefined if
   * the server is gone.
   */
  async pay(url: string): Promise<string | null | undefined> {
    const id = this.#open.pop() ?? (await this.#begin(url))
    if (!id) return id
    this.#tell(id, this.stub.pay(this.stub.sessionOf(id)), { kind: 'paid' })
    return (await this.#sendAll(url)) === 'gone' ? undefined : id
  }

  async #begin(url: string): Promise<string | null | undefined> {
    const amount = 50_000
    const answer = await this.#ask(url, ['POST', '/api/topups', { amountUsd: formatUsd(amount) }])
    if (!answer) return undefined
    if (answer.status === 503) return null
    if (answer.status !== 200) {
      this.unexpected.push(`POST /api/topups: ${answer.status} ${answer.body.message}`)
      return undefined
    }
    const { id } = answer.body
    this.#topups.set(id, newTopup({ id, userId: this.account.userId, amount, createdAt: Date.now() }))
    return id
  }

  /** Reverses a payment by a refund or a dispute, which is won or lost. Returns false if the server is gone. */
  async takeBack(url: string, topupId: string, random: Random): Promise<boolean> {
    const { stub } = this
    const intent = stub.intentOf(topupId)
    // Usually the whole amount, although some of it is already spent by then.
    const cents = random.below(4) === 0 ? 1 + random.below(intent.amount) : intent.amount
    if (random.below(2) === 0) {
      this.#tell(topupId, stub.refund(intent, cents), { kind: 'refunded', refunded: cents * centUnits })
    } else {
      const { id: disputeId, withdrawn } = stub.dispute(intent, cents)
      const of = { disputeId, amount: cents * centUnits }
      this.#tell(topupId, withdrawn, { kind: 'withdrawn', ...of })
      const [, reinstated] = stub.endDispute(disputeId, random.below(2) === 0 ? 'won' : 'lost')
      if (reinstated) this.#tell(topupId, reinstated, { kind: 'reinstated', ...of })
    }
    return (await this.#sendAll(url)) !== 'gone'
  }

  async raiseCap(url: string): Promise<void> {
    this.#cap += capStep
    await this.#ask(url, ['PATCH', `/api/keys/${this.#keyId}`, { limitUsd: formatUsd(this.#cap) }])
  }

  /** Whether this is an expected rejection: because of the key's limit, debt, or the balance. */
  isRefusal({ body, status }: { status: number; body: { message: string } }): boolean {
    return status === 403 && /can spend|you owe|balance/i.test(body.message)
  }

  /** Resends events until they are answered, and resends some answered events once more. */
  async repeatUnanswered(url: string): Promise<void> {
    this.#unanswered.push(...this.#kept.slice(-5))
    this.#kept.push(...this.#answered.splice(0))
    for (let tries = 0; this.#unanswered.length > 0; tries++) {
      demand(tries < 200, 'payment events are answered')
      demand((await this.#sendAll(url)) !== 'gone', 'payment events are answered by a server that was started')
    }
    // Starts every load, even a very short one, with open top-ups to pay.
    while (this.#open.length < openMin) {
      const id = await this.#begin(url)
      demand(id !== undefined, 'a top-up is begun')
      if (id) this.#open.push(id)
    }
  }

  #tell(topupId: string, event: StubEvent, change: SimChange): void {
    this.#unanswered.push({ topupId, event, change })
    learn(this.#topups.get(topupId)!, change)
  }

  /** Sends all unanswered events, the newest first, each twice in parallel. */
  async #sendAll(url: string): Promise<Sent> {
    const told = this.#unanswered.toReversed()
    const sent = await Promise.all(told.flatMap(({ event }) => [this.#send(url, event), this.#send(url, event)]))
    const isAnswered = told.map((_, n) => sent[2 * n] === 'answered' && sent[2 * n + 1] === 'answered')
    this.#answered.push(...told.filter((_, n) => isAnswered[n]))
    this.#unanswered = told.filter((_, n) => !isAnswered[n]).toReversed()
    return sent.includes('gone') ? 'gone' : sent.includes('refused') ? 'refused' : 'answered'
  }

  async #send(url: string, event: StubEvent): Promise<Sent> {
    const status = await this.stub.deliver(`${url}/api/payments/stripe/events`, event).catch(() => undefined)
    if (status === undefined) return 'gone'
    if (status !== 200 && status !== 503) this.unexpected.push(`a payment event: ${status}`)
    return status === 200 ? 'answered' : 'refused'
  }

  async #ask(url: string, [method, path, body]: [string, string, object]) {
    const headers = { Authorization: `Bearer ${this.manager.key}`, 'Idempotency-Key': randomUUID() }
    const sent = { method, headers: { ...headers, 'Content-Type': 'application/json' }, body: JSON.stringify(body) }
    try {
      const response = await fetch(url + path, sent)
      return { status: response.status, body: (await response.json()) as { id: string; message: string } }
    } catch {
      return undefined
    }
  }

  /** Checks the rows once the service is idle and has answered all events. */
  check(rows: RowSource): void {
    const { userId } = this.account
    demandEqual(this.unexpected, [], 'answers to payments that nobody expects')
    type Row = { id: string; status: string; refunded: number; disputed: number; credits: number }
    const found = rows.all<Row>(
      `SELECT id, status, refunded, disputed, (SELECT count(*) FROM transactions t
          WHERE t.topup_id = topups.id AND t.type = 'credit' AND t.amount = topups.amount) AS credits
        FROM topups WHERE user_id = ?`,
      userId,
    )
    const byId = new Map(found.map((row) => [row.id, row]))
    let worth = 0
    for (const topup of this.#topups.values()) {
      const row = byId.get(topup.id)
      const expected = topup.isPaid ? ['paid', 1, topup.refunded] : ['open', 0, 0]
      demandEqual([row?.status, row?.credits, row?.refunded], expected, `the top-up ${topup.id}`)
      worth += worthOf(topup)
    }
    const unknown = found.filter(({ id }) => !this.#topups.has(id))
    demandEqual(unknown.filter(({ credits, status }) => status !== 'open' || credits > 0).length, 0, 'other credits')
    const [spent] = rows.all<{ units: number }>(
      `SELECT CAST(coalesce(sum(cost), 0) AS bigint) AS units FROM tasks WHERE user_id = ? AND status = 'completed'`,
      userId,
    )
    worth -= spent!.units
    const [account] = rows.all<{ balance: number; owed: number }>(
      'SELECT balance, owed FROM accounts WHERE user_id = ?',
      userId,
    )
    const expected = { balance: Math.max(0, worth), owed: Math.max(0, -worth) }
    demandEqual(account, expected, 'what the payer has and owes')
    const windows = rows.all<{ charged: number; held: number }>(
      'SELECT charged, held FROM spend_windows WHERE owner_id = ?',
      this.#keyId,
    )
    const counted = windows[0] ?? { charged: 0, held: 0 }
    demandEqual(counted, { charged: spent!.units, held: 0 }, 'what the limited key has spent')
    demand(counted.charged <= this.#cap, `the limited key has spent ${counted.charged} of ${this.#cap}`)
  }
}
