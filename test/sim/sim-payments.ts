import type { DueRecharge } from '../../server/store/payments/payment-records.ts'
import type { StubEvent, StubIntent } from '../payments/stripe-objects.ts'
import { signed, StripeStub, stubKeys } from '../payments/stripe-stub.ts'
import { isIn, nothingYet, shownOf, stateAfter, type SimChange } from './payment-model.ts'
import type { MadeCharge } from './recharge-model.ts'
import type { ProviderState } from './sim-state.ts'
import type { SimWorld } from './sim-world.ts'

/** Tells the service where the stub of the provider is. */
export const paymentsVariable = 'ERRAND_SIM_PAYMENTS'
const centUnits = 100
/** Up to so many events of a top-up at once are all applied; of more the service may ask for some again. */
const crowdMax = 8
const eventsPath = '/api/payments/stripe/events'

/** An event of the provider; `at` is the state of the payment that it announces. */
export type KnownEvent = { topupId: string; at: number; event: StubEvent }

/** The payment provider, with the history of each payment; it keeps that whatever happens to the service. */
export class SimPayments {
  readonly stub: StripeStub
  /** All events, oldest first; those that nobody has answered yet are `unsent`. */
  readonly told: KnownEvent[] = []
  readonly unsent = new Set<KnownEvent>()
  readonly #histories = new Map<string, ProviderState[]>()
  readonly #crowds = new Map<string, { now: number; most: number }>()
  readonly #world: SimWorld

  private constructor(stub: StripeStub, world: SimWorld) {
    this.stub = stub
    this.#world = world
    stub.now = () => world.now
  }

  static async start(world: SimWorld): Promise<SimPayments> {
    const stub = await StripeStub.start()
    process.env[paymentsVariable] = stub.url
    return new SimPayments(stub, world)
  }

  async stop(): Promise<void> {
    await this.stub.stop()
  }

  /** Something has happened to a payment, which its event will tell. */
  tells(topupId: string, event: StubEvent, change: SimChange): void {
    const history = this.historyOf(topupId)
    const amount = (this.stub.intents.size > 0 && this.#amountOf(topupId)) || this.stub.sessionOf(topupId).amount_total
    history.push(stateAfter(history.at(-1)!, change, amount * centUnits))
    this.#histories.set(topupId, history)
    const known = { topupId, at: history.length - 1, event }
    this.told.push(known)
    this.unsent.add(known)
  }

  #amountOf(topupId: string): number | undefined {
    return [...this.stub.intents.values()].find(({ metadata }) => metadata['errand_topup'] === topupId)?.amount
  }

  /** All states that a payment was in, oldest first. */
  historyOf(topupId: string): ProviderState[] {
    return this.#histories.get(topupId) ?? [nothingYet()]
  }

  /** Sends an event to any node; the status that is answered. */
  async send(known: KnownEvent): Promise<number> {
    const { checks, model, now } = this.#world
    const { event, topupId } = known
    // A top-up that a restored backup does not have stays unknown.
    const isKnown = model.state.topups.has(topupId)
    if (isKnown) model.refreshing.set(topupId, (model.refreshing.get(topupId) ?? 0) + 1)
    const signature = signed(JSON.stringify(event), stubKeys.webhookSecret, Math.floor(now / 1000))
    const crowd = this.#crowdOf(topupId)
    const { status } = await this.#world.send({
      kind: 'paymentEvent',
      mayBeBusy: () => crowd.most > crowdMax,
      method: 'POST',
      path: eventsPath,
      body: event,
      headers: { 'stripe-signature': signature },
    })
    crowd.now--
    checks.that([0, 200, 503].includes(status), `a payment event got ${status}`)
    if (status === 200) this.unsent.delete(known)
    if (isKnown) this.#answered(topupId, status)
    return status
  }

  /** How many events of a top-up are under way, and how many were at most since the last pause. */
  #crowdOf(topupId: string): { now: number; most: number } {
    const known = this.#crowds.get(topupId)
    const crowd = known && known.now > 0 ? known : { now: 0, most: 0 }
    crowd.most = Math.max(crowd.most, ++crowd.now)
    this.#crowds.set(topupId, crowd)
    return crowd
  }

  /** What was not answered may still be applied, so its top-up is looked at until another event is answered. */
  #answered(topupId: string, status: number): void {
    const { model } = this.#world
    const left = (model.refreshing.get(topupId) ?? 1) - 1
    model.refreshing.set(topupId, left)
    if (status !== 200 || left > 0) return
    this.#world.refresh()
    model.refreshing.delete(topupId)
  }

  /** As the service asks for what it charges without its user. */
  async ask({ customerId, methodId, topup }: DueRecharge): Promise<void> {
    const asked = { amount: String(topup.amount / centUnits), currency: 'usd', customer: customerId }
    const named = { 'metadata[errand_topup]': topup.id, 'metadata[errand_auto]': '1' }
    const body = new URLSearchParams({ ...asked, payment_method: methodId!, ...named })
    const headers = { Authorization: `Bearer ${stubKeys.secretKey}`, 'Idempotency-Key': `errand-${topup.id}` }
    const answer = await fetch(`${this.stub.url}/v1/payment_intents`, { method: 'POST', headers, body })
    await answer.arrayBuffer()
  }

  isMethodKept(topupId: string): boolean {
    const made = [...this.stub.intents.values()].filter(({ metadata }) => metadata['errand_topup'] === topupId)
    return made.some(({ payment_method: method }) => !this.stub.detached.has(method ?? ''))
  }

  /** What was made without its user. */
  chargesOf(topupId: string): MadeCharge[] {
    const made = [...this.stub.intents.values()].filter(({ metadata }) => metadata['errand_topup'] === topupId)
    return made.map(({ amount, status }) => ({ isPaid: status === 'succeeded', amount: amount * centUnits }))
  }

  /** What the provider has made of recharges since it had so many events, which it tells as well. */
  tellsRecharges(since: number): void {
    for (const event of this.stub.events.slice(since)) {
      const { metadata, status } = event.data.object as StubIntent
      this.tells(metadata['errand_topup']!, event, { kind: status === 'succeeded' ? 'paid' : 'failed' })
    }
  }

  /** Once an event is answered, its top-up is in the state that it announced, or in a newer one. */
  checkKept({ at, event, topupId }: KnownEvent): void {
    const { checks, state } = this.#world
    this.#world.refresh()
    const topup = state.topups.get(topupId)
    if (!topup) return
    const isKept = this.historyOf(topupId).some((one, n) => n >= at && isIn(one, shownOf(topup)))
    checks.that(isKept, `the state that ${event.id} announced of ${topupId} is read when it is answered`)
  }
}
