import { createHmac } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { found, invalid, metadataIn, ok, pageOf, refuse, type Fields } from './stripe-answers.ts'
import type { StubDispute, StubEvent, StubIntent, StubRefund, StubSession } from './stripe-objects.ts'

// The part of Stripe that the service uses, over real HTTP: its API, the checkout page, and its events, signed as
// documented. Tests decide which payments succeed, and which events are delivered, when and how often.

export const stubKeys = { secretKey: 'sk_test_stub', webhookSecret: 'whsec_stub' }

/** Result of the next charges of a saved method. */
export type Card = 'accepts' | 'declines' | 'needs-authentication' | 'processes'

type Send = { secret?: string; at?: number; signature?: string | null }

export class StripeStub {
  readonly sessions = new Map<string, StubSession>()
  readonly intents = new Map<string, StubIntent>()
  readonly refunds = new Map<string, StubRefund>()
  readonly disputes = new Map<string, StubDispute>()
  readonly detached = new Set<string>()
  readonly events: StubEvent[] = []
  /** API requests, as method and path. */
  readonly asked: string[] = []
  card: Card = 'accepts'
  /** If set, the API responds with this status, or not at all. */
  failure: number | 'silence' | undefined
  /** Whether the payment methods belong to another account. */
  isOtherAccount = false
  /** Cuts the connection after the work is done, before the response. */
  losesAnswers = false
  /** Receives events immediately; null keeps them for `deliver`. */
  endpoint: string | null = null
  now = () => Date.now()
  readonly #server: Server
  readonly #made = new Map<string, { body: string; status: number; answer: object }>()
  #ids = 0

  private constructor() {
    this.#server = createServer((request, response) => {
      this.#serve(request, response).catch((error: unknown) => {
        response.destroy(error instanceof Error ? error : undefined)
      })
    })
  }

  static async start(port = 0): Promise<StripeStub> {
    const stub = new StripeStub()
    await new Promise<void>((resolve) => stub.#server.listen(port, '127.0.0.1', resolve))
    return stub
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  get settings() {
    return { ...stubKeys, apiUrl: this.url, returnOrigins: ['https://app.example.com'] }
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  /** Returns a top-up's latest session. */
  sessionOf(topupId: string): StubSession {
    const found = [...this.sessions.values()].find(({ metadata }) => metadata['errand_topup'] === topupId)
    if (!found) throw new Error(`no page was made for ${topupId}`)
    return found
  }

  intentOf(topupId: string): StubIntent {
    const found = [...this.intents.values()].find(({ metadata }) => metadata['errand_topup'] === topupId)
    if (!found) throw new Error(`no payment was made for ${topupId}`)
    return found
  }

  /** Completes the page. With `isLater` the money comes later, as with a bank debit. */
  pay(session: StubSession, { isLater = false } = {}): StubEvent {
    const id = this.#newId('pi')
    if (session.saves) session.customer ??= this.#newId('cus')
    const { amount_total: amount, currency, customer, intentMetadata } = session
    const intent: StubIntent = {
      id,
      object: 'payment_intent',
      status: isLater ? 'processing' : 'succeeded',
      amount,
      amount_received: isLater ? 0 : amount,
      currency,
      customer,
      created: Math.floor(this.now() / 1000),
      metadata: intentMetadata,
      payment_method: this.#newId('pm'),
      setup_future_usage: session.saves ? 'off_session' : null,
      last_payment_error: null,
      latest_charge: null,
    }
    this.intents.set(id, intent)
    if (!isLater) this.#charged(intent)
    Object.assign(session, { payment_intent: id, status: 'complete', payment_status: isLater ? 'unpaid' : 'paid' })
    return this.event('checkout.session.completed', session)
  }

  settle(session: StubSession, succeeds: boolean): StubEvent {
    const intent = this.intents.get(session.payment_intent!)!
    if (!succeeds) {
      intent.status = 'requires_payment_method'
      return this.event('checkout.session.async_payment_failed', session)
    }
    session.payment_status = 'paid'
    Object.assign(intent, { status: 'succeeded', amount_received: intent.amount })
    this.#charged(intent)
    return this.event('checkout.session.async_payment_succeeded', session)
  }

  expire(session: StubSession): StubEvent {
    session.status = 'expired'
    return this.event('checkout.session.expired', session)
  }

  refund(intent: StubIntent, cents: number): StubEvent {
    const charge = intent.latest_charge!
    charge.amount_refunded += cents
    const refund = { object: 'refund', payment_intent: intent.id, amount: cents, currency: 'usd' } as const
    const id = this.#newId('re')
    this.refunds.set(id, { id, ...refund, status: 'succeeded' })
    return this.event('charge.refunded', charge)
  }

  /** Fails the last refund, as if the payer's bank had returned it. The charge's total still includes the refund. */
  failRefund(intent: StubIntent): StubEvent {
    const refund = [...this.refunds.values()].findLast(({ payment_intent: of }) => of === intent.id)!
    refund.status = 'failed'
    return this.event('refund.failed', refund)
  }

  dispute(intent: StubIntent, cents = intent.amount): { id: string; created: StubEvent; withdrawn: StubEvent } {
    const id = this.#newId('dp')
    const charge = intent.latest_charge!
    charge.disputed = true
    const dispute: StubDispute = {
      id,
      object: 'dispute',
      payment_intent: intent.id,
      charge: charge.id,
      amount: cents,
      currency: 'usd',
      status: 'needs_response',
      balance_transactions: [],
    }
    this.disputes.set(id, dispute)
    const created = this.event('charge.dispute.created', dispute)
    dispute.balance_transactions.push({ amount: -Math.ceil(cents * 0.9), currency: 'eur' })
    return { id, created, withdrawn: this.event('charge.dispute.funds_withdrawn', dispute) }
  }

  /** Ends a dispute. A won dispute returns the money. */
  endDispute(id: string, outcome: 'won' | 'lost'): StubEvent[] {
    const dispute = this.disputes.get(id)!
    dispute.status = outcome
    if (outcome === 'won') {
      dispute.balance_transactions.push({ amount: Math.ceil(dispute.amount * 0.8), currency: 'eur' })
    }
    const closed = this.event('charge.dispute.closed', dispute)
    return outcome === 'won' ? [closed, this.event('charge.dispute.funds_reinstated', dispute)] : [closed]
  }

  /** Stores an event in its current state; sends it immediately if there is an endpoint. */
  event(type: string, object: object, changes: Partial<StubEvent> = {}): StubEvent {
    const created = Math.floor(this.now() / 1000)
    const { intentMetadata: _, saves: _saves, ...shown } = structuredClone(object) as Record<string, unknown>
    const data = { object: shown }
    const event: StubEvent = {
      id: this.#newId('evt'),
      object: 'event',
      type,
      created,
      livemode: false,
      data,
      ...changes,
    }
    this.events.push(event)
    if (this.endpoint !== null) void this.deliver(this.endpoint, event).catch(() => {})
    return event
  }

  /** Sends an event or any string; returns the response status. */
  async deliver(address: string, event: StubEvent | string, send: Send = {}): Promise<number> {
    const body = typeof event === 'string' ? event : JSON.stringify(event)
    const { at = Math.floor(this.now() / 1000), secret = stubKeys.webhookSecret } = send
    const signature = send.signature === undefined ? signed(body, secret, at) : send.signature
    const headers = { 'content-type': 'application/json; charset=utf-8' }
    const response = await fetch(address, {
      method: 'POST',
      headers: { ...headers, ...(signature !== null && { 'stripe-signature': signature }) },
      body,
    })
    await response.arrayBuffer()
    return response.status
  }

  #charged(intent: StubIntent): void {
    const id = this.#newId('ch')
    const { amount, currency, metadata } = intent
    const receipt = `${this.url}/receipts/${id}`
    const of = {
      id,
      object: 'charge' as const,
      payment_intent: intent.id,
      amount,
      amount_refunded: 0,
      disputed: false,
      currency,
    }
    intent.latest_charge = { ...of, receipt_url: receipt, metadata }
  }

  #newId(prefix: string): string {
    return `${prefix}_stub${String(++this.#ids).padStart(6, '0')}`
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '' } = request
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks).toString('utf8')
    const { pathname, searchParams } = new URL(url, this.url)
    if (pathname.startsWith('/pay/')) return this.#servePage(response, { method, pathname, body })
    if (pathname.startsWith('/receipts/')) return void response.end('A receipt')
    this.asked.push(`${method} ${pathname}`)
    if (this.failure === 'silence') return
    if (request.headers.authorization !== `Bearer ${stubKeys.secretKey}`)
      return refuse(response, 401, 'api_key_invalid')
    if (this.failure !== undefined) return refuse(response, this.failure, 'api_error', 'api_error')
    const key = request.headers['idempotency-key']
    const earlier = typeof key === 'string' ? this.#made.get(key) : undefined
    if (earlier && earlier.body !== body) return refuse(response, 400, 'idempotency_key_in_use', 'idempotency_error')
    const { answer, status } =
      earlier ??
      this.#answer(method, pathname, {
        form: Object.fromEntries(new URLSearchParams(body)),
        query: Object.fromEntries(searchParams),
        types: searchParams
          .getAll('types[]')
          .concat([...searchParams].filter(([name]) => /^types\[\d+\]$/.test(name)).map(([, type]) => type)),
      })
    if (method === 'POST' && typeof key === 'string') this.#made.set(key, { body, status, answer })
    if (this.losesAnswers) return void response.destroy()
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
  }

  #answer(
    method: string,
    path: string,
    { form, query, types }: { form: Fields; query: Fields; types: string[] },
  ): { status: number; answer: object } {
    const [, , kind = '', id = '', act = ''] = path.split('/')
    if (path === '/v1/checkout/sessions' && method === 'POST') return this.#createSession(form)
    if (path.startsWith('/v1/checkout/sessions/')) return found(this.#expandedSession(act, Object.values(query)))
    if (path === '/v1/payment_intents' && method === 'POST') return this.#createIntent(form)
    if (path === '/v1/payment_intents') return ok(this.#listIntents(query))
    if (path === '/v1/refunds') return ok(this.#listOf('/v1/refunds', [...this.refunds.values()], query))
    if (path === '/v1/disputes') return ok(this.#listOf('/v1/disputes', [...this.disputes.values()], query))
    if (kind === 'payment_intents') return found(this.#expanded(this.intents.get(id), Object.values(query)))
    if (path === '/v1/events') return ok(this.#listEvents(query, types))
    if (kind === 'payment_methods' && act === 'detach') {
      if (this.isOtherAccount) return found(undefined)
      if (this.detached.has(id)) return invalid('The payment method is not attached to a customer')
      this.detached.add(id)
      return ok({ id, object: 'payment_method' })
    }
    return { status: 404, answer: { error: { type: 'invalid_request_error', message: `there is no ${path}` } } }
  }

  #createSession(form: Fields): { status: number; answer: object } {
    for (const name of ['success_url', 'cancel_url']) {
      if ((form[name] ?? '').length > 5000) return invalid(`${name} must have at most 5000 characters`)
    }
    const id = `cs_test_${String(++this.#ids).padStart(6, '0')}`
    const session: StubSession = {
      id,
      object: 'checkout.session',
      mode: form['mode'] ?? '',
      url: `${this.url}/pay/${id}`,
      status: 'open',
      payment_status: 'unpaid',
      amount_total: Number(form['line_items[0][price_data][unit_amount]']),
      currency: form['line_items[0][price_data][currency]'] ?? '',
      created: Math.floor(this.now() / 1000),
      customer: form['customer'] ?? null,
      payment_intent: null,
      metadata: metadataIn(form, 'metadata'),
      success_url: form['success_url'] ?? '',
      cancel_url: form['cancel_url'] ?? '',
      intentMetadata: metadataIn(form, 'payment_intent_data[metadata]'),
      saves: form['payment_intent_data[setup_future_usage]'] === 'off_session',
    }
    this.sessions.set(id, session)
    return ok(session)
  }

  #createIntent(form: Fields): { status: number; answer: object } {
    const intent: StubIntent = {
      id: this.#newId('pi'),
      object: 'payment_intent',
      status: { accepts: 'succeeded', processes: 'processing' }[this.card as string] ?? 'requires_payment_method',
      amount: Number(form['amount']),
      amount_received: this.card === 'accepts' ? Number(form['amount']) : 0,
      currency: form['currency'] ?? '',
      customer: form['customer'] ?? null,
      created: Math.floor(this.now() / 1000),
      metadata: metadataIn(form, 'metadata'),
      payment_method: form['payment_method'] ?? null,
      setup_future_usage: null,
      last_payment_error: null,
      latest_charge: null,
    }
    this.intents.set(intent.id, intent)
    if (this.card === 'accepts') {
      this.#charged(intent)
      this.event('payment_intent.succeeded', intent)
      return ok(intent)
    }
    if (this.card === 'processes') return ok(intent)
    const code = this.card === 'declines' ? 'card_declined' : 'authentication_required'
    const declined = this.card === 'declines' ? 'insufficient_funds' : 'authentication_required'
    intent.last_payment_error = { code, decline_code: declined }
    this.event('payment_intent.payment_failed', intent)
    const error = { type: 'card_error', code, decline_code: declined, message: 'declined', payment_intent: intent }
    return { status: 402, answer: { error } }
  }

  #listIntents(query: Fields) {
    const since = Number(query['created[gte]'] ?? 0)
    const of = [...this.intents.values()].filter(({ created, customer }) => {
      return created >= since && (query['customer'] === undefined || customer === query['customer'])
    })
    return pageOf('/v1/payment_intents', of.toReversed(), query)
  }

  #listOf(url: string, all: (StubRefund | StubDispute)[], query: Fields) {
    const of = all.filter((one) => one.payment_intent === query['payment_intent'])
    return pageOf(url, of.toReversed(), query)
  }

  #listEvents(query: Fields, types: string[]) {
    const since = Number(query['created[gte]'] ?? 0)
    const newest = this.events.filter(({ created, type }) => created >= since && types.includes(type)).toReversed()
    return pageOf('/v1/events', newest, query)
  }

  #expandedSession(id: string, expand: string[]): object | undefined {
    const session = this.sessions.get(id)
    if (!session) return undefined
    const inner = expand.map((name) => /^payment_intent\.(\w+)$/.exec(name)?.[1] ?? '')
    const intent = this.intents.get(session.payment_intent ?? '')
    return { ...session, payment_intent: this.#expanded(intent, inner) ?? session.payment_intent }
  }

  #expanded(intent: StubIntent | undefined, expand: string[]): object | undefined {
    if (!intent) return undefined
    const { customer, latest_charge: charge, payment_method: method } = intent
    const card = { brand: 'visa', last4: '4242' }
    return {
      ...intent,
      latest_charge: expand.includes('latest_charge') ? charge : (charge?.id ?? null),
      payment_method: expand.includes('payment_method')
        ? { id: method, type: 'card', card, customer: this.detached.has(method ?? '') ? null : customer }
        : method,
    }
  }

  #servePage(
    response: ServerResponse,
    { body, method, pathname }: Record<'method' | 'pathname' | 'body', string>,
  ): void {
    const session = this.sessions.get(pathname.split('/')[2] ?? '')
    if (!session) return void response.writeHead(404).end()
    if (method === 'POST' && session.status === 'open') {
      const way = new URLSearchParams(body).get('way')
      if (way === 'pay') this.pay(session)
      if (way === 'later') this.pay(session, { isLater: true })
      const url = way === 'leave' ? session.cancel_url : session.success_url
      return void response.writeHead(303, { location: url }).end()
    }
    const button = (way: string, text: string) => `<button name="way" value="${way}">${text}</button>`
    const amount = (session.amount_total / 100).toFixed(2)
    const page = `<!doctype html><html lang="en"><title>Stripe stub</title><h1>Pay ${amount} USD</h1>
      <form method="post">${button('pay', 'Pay')} ${button('later', 'Pay by bank debit')} ${button('leave', 'Back')}</form>`
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(page)
  }
}

/** Signs as Stripe's documentation describes. */
export function signed(body: string, secret: string, at: number): string {
  return `t=${at},v1=${createHmac('sha256', secret).update(`${at}.${body}`).digest('hex')}`
}
