import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createErrand } from 'errand'
import { bundlePage } from '../bundle-page.ts'

// A product with its own users that sells agents. Errand runs inside its server, below /errand. The example stores
// users in memory and identifies them by name alone. A real product has a database and a login.

export type Product = { server: Server; close: () => Promise<void> }

/** `errandConfig` is the path of the configuration with the agents, and `baseUrl` the URL of the product. */
type ProductOptions = { baseUrl: string; dataDir: string; errandConfig: string }

/** The product's own user record. Errand uses its id as the external id. */
type Customer = { id: string; name: string }

/**
 * Limits of a page's token: its maximum cost and its lifetime in seconds. When it has expired, the page requests
 * another token.
 */
const visit = { scopes: ['read', 'execute', 'pay'], maxCostUsd: '2.00', expiresInSeconds: 900 } as const

export async function createProduct({ baseUrl, dataDir, errandConfig }: ProductOptions): Promise<Product> {
  const errand = await createErrand({ config: errandConfig, baseUrl: `${baseUrl}/errand`, dataDir })
  const script = await bundlePage(new URL('product-page.tsx', import.meta.url))
  const customers = new Map<string, Customer>()
  const customerOf = ({ headers }: IncomingMessage) =>
    customers.get(/(?:^|; )product=([\w-]+)/.exec(headers.cookie ?? '')?.[1] ?? '')

  const routes: Record<string, (request: IncomingMessage, response: ServerResponse) => Promise<void> | void> = {
    'GET /': (_, response) => send(response, 'text/html; charset=utf-8', page),
    'GET /page.js': (_, response) => send(response, 'text/javascript', script),

    'POST /sign-up': async (request, response) => {
      const { name } = await readJson(request)
      const customer = { id: `customer-${randomUUID()}`, name: String(name).trim().slice(0, 100) }
      if (customer.name === '') return sendJson(response, 400, { message: 'Enter your name.' })
      // The first call with this external id creates the user, who starts with a dollar. Further calls change nothing.
      const { id: userId } = await errand.client.users.getOrCreate({ externalId: customer.id })
      const welcome = { userId, amountUsd: '1.00', reason: 'Welcome' }
      await errand.client.users.credit(welcome, { idempotencyKey: customer.id })
      const login = randomUUID()
      customers.set(login, customer)
      response.setHeader('Set-Cookie', `product=${login}; HttpOnly; SameSite=Lax; Path=/`)
      sendJson(response, 200, { name: customer.name })
    },

    // Returns the page's data: the user's last session, and a token with which the page calls Errand directly.
    'POST /start': async (request, response) => {
      const customer = customerOf(request)
      if (!customer) return sendJson(response, 401, { message: 'Sign up first.' })
      const own = errand.client.asUser(customer.id)
      const { sessions } = await own.sessions.list({ status: 'active', limit: 1 })
      const { sessionId } = sessions[0]
        ? { sessionId: sessions[0].id }
        : await own.sessions.create({ agentId: 'assistant' })
      const { token } = await own.clientTokens.create({ ...visit, scopes: [...visit.scopes] })
      sendJson(response, 200, { name: customer.name, sessionId, token })
    },
  }

  const server = createServer((request, response) => {
    const { method, url = '/' } = request
    if (url === errand.basePath || url.startsWith(`${errand.basePath}/`)) return errand.handler(request, response)
    const route = routes[`${method} ${new URL(url, baseUrl).pathname}`]
    if (!route) return void response.writeHead(404).end()
    Promise.resolve(route(request, response)).catch((error: unknown) => {
      console.error(error)
      if (!response.headersSent) sendJson(response, 502, { message: 'Something went wrong. Try again.' })
    })
  })
  return {
    server,
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      await errand.close()
    },
  }
}

const page = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width">
    <title>A product</title>
    <link rel="icon" href="data:,">
    <style>body { font: 16px system-ui; margin: 2rem auto; max-width: 40rem; padding: 0 1rem }</style>
  </head>
  <body>
    <div id="app"></div>
    <script type="module" src="/page.js"></script>
  </body>
</html>
`

async function readJson(request: IncomingMessage): Promise<Record<string, unknown>> {
  let text = ''
  for await (const chunk of request.setEncoding('utf8')) {
    text += String(chunk)
    if (text.length > 10_000) throw new Error('The body is too large.')
  }
  return JSON.parse(text) as Record<string, unknown>
}

function send(response: ServerResponse, type: string, body: string): void {
  response.writeHead(200, { 'Content-Type': type, 'Cache-Control': 'no-store' }).end(body)
}

function sendJson(response: ServerResponse, status: number, value: object): void {
  response.writeHead(status, { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' })
  response.end(JSON.stringify(value))
}
