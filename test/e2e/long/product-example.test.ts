import type { AddressInfo } from 'node:net'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { createProduct } from '../../../examples/product/product-server.ts'
import quickstart from '../../../examples/quickstart/errand.config.ts'
import { PlatformCalls } from '../../api/platform-calls.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { openResources } from '../../support/resources.ts'
import { startService, type TestService } from '../../support/test-service.ts'
import { openBrowser } from '../open-browser.ts'

const timeoutMs = 180_000

async function withProduct(
  run: (service: TestService, url: string) => Promise<void>,
  options: Parameters<typeof startService>[0] = {},
): Promise<void> {
  const service = await startService({ config: quickstart, limits: { executionsPerMinute: 0 }, ...options })
  const { key } = await PlatformCalls.open(service, { scopes: ['users', 'credit', 'act'] })
  const product = createProduct({ errandUrl: service.url, platformKey: key, agentId: 'assistant' })
  await new Promise<void>((resolve) => product.listen(0, '127.0.0.1', resolve))
  openResources.add('a product')
  try {
    await run(service, `http://127.0.0.1:${(product.address() as AddressInfo).port}`)
  } finally {
    product.closeAllConnections()
    await new Promise((resolve) => product.close(resolve))
    openResources.delete('a product')
    await service.stop()
  }
}

type Handed = { token: string; sessionId: string; errandUrl: string }

/** A user who has signed up with the product, in a separate browser. */
class Visitor {
  readonly page: Page
  readonly problems: string[] = []

  private constructor(page: Page) {
    this.page = page
  }

  static async signedUp(url: string, name: string): Promise<Visitor> {
    const context = await (await openBrowser()).newContext()
    const visitor = new Visitor(await context.newPage())
    const { page, problems } = visitor
    page.on('pageerror', ({ message }) => problems.push(message))
    page.on('console', (line) => line.type() === 'error' && problems.push(line.text()))
    await page.goto(url)
    await page.getByLabel('Your name').fill(name)
    await page.getByRole('button', { name: 'Sign up' }).click()
    await page.getByRole('heading', { name: `Hello, ${name}` }).waitFor()
    return visitor
  }

  async balance(): Promise<string> {
    await this.page.reload()
    return (await this.page.locator('#balance').textContent()) ?? ''
  }

  async addCredit(): Promise<void> {
    const before = await this.page.locator('#balance').textContent()
    await this.page.getByRole('button', { name: 'Add 5 USD' }).click()
    await this.page.waitForFunction((old) => document.querySelector('#balance')?.textContent !== old, before)
  }

  async say(message: string): Promise<void> {
    await this.page.getByLabel('Message', { exact: true }).fill(message)
    await this.page.getByRole('button', { name: 'Send' }).click()
  }

  texts(role: 'user' | 'assistant'): Promise<string[]> {
    return this.page.locator(`p.${role}`).allTextContents()
  }

  /** Requests a client token from the product's server, as the page does. */
  token(): Promise<Handed> {
    return this.page.evaluate(async () => (await (await fetch('/token', { method: 'POST' })).json()) as Handed)
  }

  async close(): Promise<void> {
    await this.page.context().close()
  }
}

test("two users sign up, pay and chat in their browsers without seeing each other's data", { timeout: timeoutMs }, () =>
  withProduct(async (service, url) => {
    const ada = await Visitor.signedUp(url, 'Ada <b>')
    const bob = await Visitor.signedUp(url, 'Bob')
    try {
      await ada.addCredit()
      expect([await ada.balance(), await bob.balance()]).toEqual(['5.0000', '0.0000'])

      await ada.say('The secret word is juniper.')
      await ada.page.locator('p.assistant[data-cost-usd]').waitFor()
      const [reply = ''] = await ada.texts('assistant')
      expect(reply.length).toBeGreaterThan(0)
      // Bob has no credit yet, and the page says so.
      await bob.say('Hello')
      await bob.page.getByRole('status').filter({ hasText: 'Balance' }).waitFor()
      bob.problems.length = 0
      await bob.addCredit()
      await bob.say('What is the secret word?')
      await bob.page.locator('p.assistant[data-cost-usd]').waitFor()
      expect((await bob.texts('assistant')).join()).not.toContain('juniper')

      // A reopened page shows its user's messages, and the cost is charged to that user.
      const costUsd = (await ada.page.locator('p.assistant').getAttribute('data-cost-usd')) ?? ''
      expect(Number(await ada.balance())).toBeCloseTo(5 - Number(costUsd), 4)
      await ada.page.locator('p.assistant').waitFor()
      expect([await ada.texts('user'), await ada.texts('assistant')]).toEqual([
        ['The secret word is juniper.'],
        [reply],
      ])

      const [ofAda, ofBob] = [await ada.token(), await bob.token()]
      expect(ofAda.sessionId).not.toBe(ofBob.sessionId)
      const asBob = (path: string) => service.get(path, ofBob.token)
      expect((await asBob(`/api/sessions/${ofBob.sessionId}`)).status).toBe(200)
      const foreign = await asBob(`/api/sessions/${ofAda.sessionId}/messages`)
      const nobodys = await asBob('/api/sessions/ses_nobody/messages')
      expect([foreign.status, foreign.body]).toEqual([404, nobodys.body])
      const intrusion = { sessionId: ofAda.sessionId, message: 'Repeat what was said.' }
      expect((await service.post('/api/chat', intrusion, { key: ofBob.token })).status).toBe(404)
      for (const path of ['/api/sessions', '/api/tasks', '/api/account', '/api/users']) {
        expect((await asBob(path)).status, path).toBe(403)
      }
      expect([...ada.problems, ...bob.problems]).toEqual([])
      expect(await service.app.store.verifyLedger()).toMatchObject({ ok: true })
    } finally {
      await ada.close()
      await bob.close()
    }
  }),
)

test('a repeated order is credited once, and an unauthenticated visitor gets no token', { timeout: timeoutMs }, () =>
  withProduct(async (_, url) => {
    const ada = await Visitor.signedUp(url, 'Ada')
    try {
      await ada.page.evaluate(async () => {
        const orderId = document.querySelector<HTMLInputElement>('input[name=orderId]')!.value
        const order = () => fetch('/top-up', { method: 'POST', body: new URLSearchParams({ orderId }) })
        await Promise.all([order(), order(), order()])
      })
      expect(await ada.balance()).toBe('5.0000')
    } finally {
      await ada.close()
    }
    expect((await fetch(`${url}/token`, { method: 'POST' })).status).toBe(401)
  }),
)

test('a customer gets a session after a failed attempt, and a new session after expiry', async () => {
  const clock = new FakeClock()
  await withProduct(
    async (service, url) => {
      const signedUp = await fetch(`${url}/sign-up`, {
        method: 'POST',
        body: new URLSearchParams({ name: 'Ada' }),
        redirect: 'manual',
      })
      const Cookie = signedUp.headers.get('set-cookie')!.split(';')[0]!
      const ask = async () => {
        const response = await fetch(`${url}/token`, { method: 'POST', headers: { Cookie } })
        return { status: response.status, sessionId: ((await response.json()) as Partial<Handed>).sessionId }
      }
      const { users } = await service.app.store.listUsers({ limit: 1, offset: 0, search: 'customer-' })
      const userId = users[0]!.id
      await service.app.store.updateUser({ userId, isSuspended: true })
      expect((await ask()).status).toBe(502)
      await service.app.store.updateUser({ userId, isSuspended: false })
      const [first, same] = [await ask(), await ask()]
      expect([first.status, same]).toEqual([200, first])
      clock.advance(25 * 3_600_000)
      const renewed = await ask()
      expect(renewed.status).toBe(200)
      expect(renewed.sessionId).not.toBe(first.sessionId)
    },
    { clock },
  )
})
