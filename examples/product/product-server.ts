import { randomUUID } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import type { HttpBindings } from '@hono/node-server'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { createErrand } from 'errand'
import { unwrap, type WebhookEvent } from 'errand/client/webhooks'
import { Hono } from 'hono'
import { getCookie, setCookie } from 'hono/cookie'
import { bundlePage } from '../bundle-page.ts'

// A product with its own users that sells agents. Errand runs inside its server, below /errand. The example stores
// users in memory and identifies them by name alone. A real product has a database and a login.

type ProductOptions = { baseUrl: string; dataDir: string; onEvent: (event: WebhookEvent) => void }

export async function createProduct({ baseUrl, dataDir, onEvent }: ProductOptions) {
  const config = fileURLToPath(new URL('errand.config.ts', import.meta.url))
  const errand = await createErrand({ config, baseUrl: `${baseUrl}/errand`, dataDir })
  // A real product creates its webhook once, and stores the secret.
  const { secret } = await errand.client.webhooks.create({
    url: `${baseUrl}/events`,
    types: ['task.completed', 'task.failed'],
  })
  const script = await bundlePage(new URL('product-page.tsx', import.meta.url))
  /** The product's users by login. Errand uses their id as the external id. */
  const customers = new Map<string, { id: string; name: string }>()
  const app = new Hono<{ Bindings: HttpBindings }>()

  app.all('/errand/*', ({ env }) => {
    errand.handler(env.incoming, env.outgoing)
    return RESPONSE_ALREADY_SENT
  })
  app.get('/', (c) => c.html(page))
  app.get('/page.js', (c) => c.body(script, 200, { 'Content-Type': 'text/javascript' }))

  app.post('/sign-up', async (c) => {
    const name = String((await c.req.json<{ name: unknown }>()).name).trim()
    if (name === '' || name.length > 100) return c.json({ message: 'Enter your name.' }, 400)
    const customer = { id: `customer-${randomUUID()}`, name }
    // The first call with this external id creates the user, who starts with a dollar. Further calls change nothing.
    const { id: userId } = await errand.client.users.getOrCreate({ externalId: customer.id })
    const welcome = { userId, amountUsd: '1.00', reason: 'Welcome' }
    await errand.client.users.credit(welcome, { idempotencyKey: customer.id })
    const login = randomUUID()
    customers.set(login, customer)
    setCookie(c, 'product', login, { httpOnly: true, sameSite: 'Lax' })
    return c.json({ name })
  })

  // Returns the page's data: the user's last session, and a token with which the page calls Errand directly. When the
  // token has expired, the page requests another one.
  app.post('/start', async (c) => {
    const customer = customers.get(getCookie(c, 'product') ?? '')
    if (!customer) return c.json({ message: 'Sign up first.' }, 401)
    const own = errand.client.asUser(customer.id)
    const [last] = (await own.sessions.list({ status: 'active', limit: 1 })).sessions
    const sessionId = last?.id ?? (await own.sessions.create({ agentId: 'assistant' })).sessionId
    const visit = { maxCostUsd: '2.00', expiresInSeconds: 900 }
    const { token } = await own.clientTokens.create({ ...visit, scopes: ['read', 'execute', 'pay'] })
    return c.json({ name: customer.name, sessionId, token })
  })

  app.post('/events', async (c) => {
    const event = await unwrap(await c.req.text(), c.req.raw.headers, secret).catch(() => undefined)
    if (!event) return c.json({ message: 'The signature is invalid.' }, 401)
    onEvent(event)
    return c.body(null, 204)
  })

  return { fetch: app.fetch, close: () => errand.close() }
}

const page = `<!doctype html>
<html lang="en">
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width">
  <title>A product</title>
  <link rel="icon" href="data:,">
  <style>body { font: 16px system-ui; margin: 2rem auto; max-width: 40rem; padding: 0 1rem }</style>
  <div id="app"></div>
  <script type="module" src="/page.js"></script>
</html>
`
