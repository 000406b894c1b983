import type { DueRecharge } from '../../server/store/payment-records.ts'
import type { StubEvent, StubIntent } from '../payments/stripe-objects.ts'
import { signed, StripeStub, stubKeys } from '../payments/stripe-stub.ts'
import type { SimChange, ToldEvent } from './payment-model.ts'
import type { MadeCharge } from './recharge-model.ts'
import type { SimWorld } from './sim-world.ts'

/** Tells the service where the stub of the provider is. */
export const paymentsVariable = 'ERRAND_SIM_PAYMENTS'
const centUnits = 100
const eventsPath = '/api/payments/stripe/events'

export type KnownEvent = ToldEvent & { event: StubEvent }

/** The payment provider, and what it has told of top-ups; it keeps that whatever happens to the service. */
export class SimPayments {
  readonly stub: StripeStub
  /** All events, oldest first; those that nobody has answered yet are `unsent`. */
  readonly told: KnownEvent[] = []
  readonly unsent = new Set<KnownEvent>()
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
    const known = { id: event.id, topupId, change, event }
    this.told.push(known)
    this.unsent.add(known)
  }

  /** Sends an event to any node; the status that is answered. */
  async send(known: KnownEvent): Promise<number> {
    const { checks, model, now } = this.#world
    const { event, id, topupId } = known
    // Of a top-up that a restored backup does not have, nothing is kept.
    const isKnown = model.state.topups.has(topupId)
    if (isKnown) model.sentEvents.set(id, known)
    const signature = signed(JSON.stringify(event), stubKeys.webhookSecret, Math.floor(now / 1000))
    const { status } = await this.#world.send({
      kind: 'paymentEvent',
      method: 'POST',
      path: eventsPath,
      body: event,
      headers: { 'stripe-signature': signature },
    })
    checks.that([0, 200, 503].includes(status), `a payment event got ${status}`)
    if (status === 200) this.unsent.delete(known)
    return status
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

  /** Of one that was answered. */
  checkKept({ id, topupId }: KnownEvent): void {
    const { audit, checks, state } = this.#world
    this.#world.refresh()
    if (!state.topups.has(topupId)) return
    checks.that(audit.seen.paymentEvents.has(id), `the event ${id} is kept when it is answered`)
  }
}
