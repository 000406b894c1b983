import type { DueRecharge } from '../../server/store/payments/payment-types.ts'
import type { StubEvent, StubIntent } from '../payments/stripe-objects.ts'
import { signed, StripeStub, stubKeys } from '../payments/stripe-stub.ts'
import { isIn, nothingYet, shownOf, stateAfter, type SimChange } from './payment-model.ts'
import type { MadeCharge } from './recharge-model.ts'
import type { ProviderState } from './sim-state.ts'
import type { SimWorld } from './sim-world.ts'

export const paymentsVariable = 'ERRAND_SIM_PAYMENTS'
const centUnits = 100
/**
 * Number of a top-up's concurrent events that the service applies. If there are more, it may make the provider
 * redeliver.
 */
const crowdMax = 8
const eventsPath = '/api/payments/stripe/events'

/** A provider event; `at` is the index of the payment state it announces. */
export type KnownEvent = { topupId: string; at: number; event: StubEvent }

/** The payment provider, with the history of each payment. Survives restarts of the service. */
export class SimPayments {
  readonly stub: StripeStub
  /** All events, oldest first. `unsent` contains the ones that have not been answered. */
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

  /** Records a change of a payment and the event that announces it. */
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

  historyOf(topupId: string): ProviderState[] {
    return this.#histories.get(topupId) ?? [nothingYet()]
  }

  async send(known: KnownEvent): Promise<number> {
    const { checks, model, now } = this.#world
    const { event, topupId } = known
    // A top-up created after the restored backup is unknown to the model and stays unknown.
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

  /** Returns the number of a top-up's events in flight. `most` is the maximum since there were none. */
  #crowdOf(topupId: string): { now: number; most: number } {
    const known = this.#crowds.get(topupId)
    const crowd = known && known.now > 0 ? known : { now: 0, most: 0 }
    crowd.most = Math.max(crowd.most, ++crowd.now)
    this.#crowds.set(topupId, crowd)
    return crowd
  }

  /**
   * Handles a response to an event. The service may still apply an event that it did not answer, so the top-up stays
   * watched until another of its events is answered.
   */
  #answered(topupId: string, status: number): void {
    const { model } = this.#world
    const left = (model.refreshing.get(topupId) ?? 1) - 1
    model.refreshing.set(topupId, left)
    if (status !== 200 || left > 0) return
    this.#world.refresh()
    model.refreshing.delete(topupId)
  }

  /** Requests a charge as the service does for auto-recharge. */
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

  chargesOf(topupId: string): MadeCharge[] {
    const made = [...this.stub.intents.values()].filter(({ metadata }) => metadata['errand_topup'] === topupId)
    return made.map(({ amount, status }) => ({ isPaid: status === 'succeeded', amount: amount * centUnits }))
  }

  /** Records the provider's recharge events after the first `since`, and announces them. */
  tellsRecharges(since: number): void {
    for (const event of this.stub.events.slice(since)) {
      const { metadata, status } = event.data.object as StubIntent
      this.tells(metadata['errand_topup']!, event, { kind: status === 'succeeded' ? 'paid' : 'failed' })
    }
  }

  /** Checks, after an event was answered, that the top-up has the announced state or a newer one. */
  checkKept({ at, event, topupId }: KnownEvent): void {
    const { checks, state } = this.#world
    this.#world.refresh()
    const topup = state.topups.get(topupId)
    if (!topup) return
    const isKept = this.historyOf(topupId).some((one, n) => n >= at && isIn(one, shownOf(topup)))
    checks.that(isKept, `the state that ${event.id} announced of ${topupId} is read when it is answered`)
  }
}
