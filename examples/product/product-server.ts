import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createClient, isErrandError, type ErrandClient } from 'errand/client'
import { appPage, signUpPage } from './product-pages.ts'

// A product with its own users, whose assistant runs on Errand. The users pay the product and never see Errand. The
// example stores users in memory and identifies them by name alone. A real product has a database and a login.

type ProductOptions = {
  /** URL of Errand, for this server and for its users' browsers. */
  errandUrl: string
  /** Needs the scopes `users`, `credit` and `act`. Never leaves this server. */
  platformKey: string
  agentId: string
}

/** The product's own user record. Errand uses its id as the external id. */
type Customer = { id: string; name: string; sessionId?: string; opening?: Promise<string> }

const bodyCharsMax = 10_000
/** Limits of one token: its maximum cost, and its lifetime. After that, the page must request another token. */
const visit = { maxCostUsd: '0.50', expiresInSeconds: 900 }

export function createProduct({ agentId, errandUrl, platformKey }: ProductOptions): Server {
  const errand = createClient({ baseUrl: errandUrl, apiKey: platformKey })
  const customers = new Map<string, Customer>()
  const routes: Record<string, (request: IncomingMessage, response: ServerResponse) => Promise<void>> = {
    'GET /': async (request, response) => {
      const customer = customerOf(request)
      if (!customer) return sendPage(response, signUpPage())
      const { balanceUsd } = await errand.asUser(customer.id).account.get()
      sendPage(response, appPage({ name: customer.name, balanceUsd, orderId: randomUUID() }))
    },
    'POST /sign-up': async (request, response) => {
      const name = ((await readForm(request)).get('name') ?? '').trim().slice(0, 100)
      if (name === '') return redirect(response)
      const customer = { id: `customer-${randomUUID()}`, name }
      // Creates the user on the first call with this external id. Later calls return the same user.
      await errand.users.getOrCreate({ externalId: customer.id })
      const login = randomUUID()
      customers.set(login, customer)
      response.setHeader('Set-Cookie', `product=${login}; HttpOnly; SameSite=Lax; Path=/`)
      redirect(response)
    },
    // A real product would do this when its payment provider confirms the payment.
    'POST /top-up': async (request, response) => {
      const customer = customerOf(request)
      const orderId = (await readForm(request)).get('orderId') ?? ''
      if (customer && /^[\w-]{36}$/.test(orderId)) await topUp(errand, customer, orderId)
      redirect(response)
    },
    // Returns a token for the page, limited to one session, 15 minutes and 0.50 USD.
    'POST /token': async (request, response) => {
      const customer = customerOf(request)
      if (!customer) return sendJson(response, 401, { message: 'Sign up first.' })
      const own = errand.asUser(customer.id)
      const sessionId = await sessionOf(customer)
      const { token } = await own.clientTokens.create({ sessionId, ...visit })
      sendJson(response, 200, { errandUrl, sessionId, token })
    },
    'GET /product-chat.js': async (_, response) => {
      response.setHeader('Content-Type', 'text/javascript')
      response.end(await readFile(new URL('product-chat.js', import.meta.url)))
    },
  }

  /**
   * Concurrent requests, such as those of two tabs, share one call of `openSession`. The promise is dropped when it
   * settles, so that a failure is not cached.
   */
  function sessionOf(customer: Customer): Promise<string> {
    customer.opening ??= openSession(customer).finally(() => delete customer.opening)
    return customer.opening
  }

  /**
   * Returns the customer's session if it is still active, otherwise a new one. Sessions expire after a day without
   * messages.
   */
  async function openSession(customer: Customer): Promise<string> {
    const own = errand.asUser(customer.id)
    if (customer.sessionId !== undefined && (await isActive(own, customer.sessionId))) return customer.sessionId
    const { sessionId } = await own.sessions.create({ agentId })
    customer.sessionId = sessionId
    return sessionId
  }

  function customerOf({ headers }: IncomingMessage): Customer | undefined {
    return customers.get(/(?:^|; )product=([\w-]+)/.exec(headers.cookie ?? '')?.[1] ?? '')
  }

  return createServer((request, response) => {
    // Allows the page to connect only to its own server and to Errand.
    const sources = `default-src 'self'; img-src data:; connect-src 'self' ${new URL(errandUrl).origin}`
    response.setHeader('Content-Security-Policy', sources)
    const route = routes[`${request.method} ${request.url}`]
    if (!route) return void response.writeHead(404).end()
    route(request, response).catch((error: unknown) => {
      const message = isErrandError(error) ? error.message : 'Something went wrong.'
      if (!isErrandError(error)) console.error(error)
      if (!response.headersSent) sendJson(response, 502, { message })
    })
  })
}

async function isActive(own: Pick<ErrandClient, 'sessions'>, sessionId: string): Promise<boolean> {
  try {
    return (await own.sessions.get({ sessionId })).status === 'active'
  } catch (error) {
    if (isErrandError(error) && error.code === 'NOT_FOUND') return false
    throw error
  }
}

/** Passes the order id as the idempotency key, so that a repeated order is credited only once. */
async function topUp(errand: ErrandClient, { id: externalId }: Customer, orderId: string): Promise<void> {
  const { id: userId } = await errand.users.getByExternalId({ externalId })
  const credit = { userId, amountUsd: '5.00', reason: `Order ${orderId}` }
  await errand.users.credit(credit, { idempotencyKey: orderId })
}

async function readForm(request: IncomingMessage): Promise<URLSearchParams> {
  let text = ''
  for await (const chunk of request.setEncoding('utf8')) {
    text += String(chunk)
    if (text.length > bodyCharsMax) throw new Error('The form is too large.')
  }
  return new URLSearchParams(text)
}

function sendPage(response: ServerResponse, html: string): void {
  response.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8', 'Cache-Control': 'no-store' }).end(html)
}

function sendJson(response: ServerResponse, status: number, value: object): void {
  response.writeHead(status, { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' })
  response.end(JSON.stringify(value))
}

function redirect(response: ServerResponse): void {
  response.writeHead(303, { Location: '/' }).end()
}
