import type { Server } from 'node:http'
import { createAdaptorServer } from '@hono/node-server'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { createProduct } from '../../../examples/product/product-server.ts'
import { StripeStub, stubKeys } from '../../payments/stripe-stub.ts'
import { freePort } from '../../support/free-port.ts'
import { openResources } from '../../support/resources.ts'
import { newDataDir } from '../../support/test-service.ts'
import { openBrowser } from '../open-browser.ts'

// The example product in browsers: Errand inside its server, its page of React parts, and payments at a stub of Stripe.

const timeoutMs = 180_000

async function withProduct(run: (baseUrl: string, eventTypes: string[]) => Promise<void>): Promise<void> {
  const stripe = await StripeStub.start()
  const port = await freePort()
  const baseUrl = `http://127.0.0.1:${port}`
  stripe.endpoint = `${baseUrl}/errand/api/payments/stripe/events`
  const settings = {
    ERRAND_STRIPE_SECRET_KEY: stubKeys.secretKey,
    ERRAND_STRIPE_WEBHOOK_SECRET: stubKeys.webhookSecret,
    ERRAND_STRIPE_API_URL: stripe.url,
  }
  Object.assign(process.env, settings)
  const eventTypes: string[] = []
  const onEvent = ({ type }: { type: string }) => void eventTypes.push(type)
  const product = await createProduct({ baseUrl, dataDir: newDataDir(), onEvent })
  const server = createAdaptorServer({ fetch: product.fetch }) as Server
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  openResources.add('a product')
  try {
    await run(baseUrl, eventTypes)
  } finally {
    await product.close()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    await stripe.stop()
    for (const name of Object.keys(settings)) delete process.env[name]
    openResources.delete('a product')
  }
}

/** A user who has signed up with the product, in a separate browser. */
class Visitor {
  readonly page: Page
  readonly problems: string[] = []

  private constructor(page: Page) {
    this.page = page
  }

  static async signedUp(url: string, name: string): Promise<Visitor> {
    const context = await (await openBrowser()).newContext({ locale: 'en-US' })
    const visitor = new Visitor(await context.newPage())
    const { page, problems } = visitor
    page.on('pageerror', ({ message }) => problems.push(message))
    await page.goto(url)
    await page.getByLabel('Your name').fill(name)
    await page.getByRole('button', { name: 'Sign up' }).click()
    await page.getByRole('heading', { name: `Hello, ${name}` }).waitFor()
    return visitor
  }

  async hasBalance(text: string): Promise<void> {
    await expect.poll(() => this.page.locator('.errand-balance').textContent()).toBe(text)
  }

  async say(message: string): Promise<void> {
    await this.page.getByLabel('Message', { exact: true }).fill(message)
    await this.page.getByLabel('Message', { exact: true }).press('Enter')
  }

  /** Returns the texts of the replies once the last one has its receipt. */
  async replies(count: number): Promise<string[]> {
    const replies = this.page.locator('.errand-message[data-role=assistant]')
    await replies
      .nth(count - 1)
      .locator('.errand-receipt')
      .waitFor()
    return await replies.locator('.errand-text').allTextContents()
  }

  async close(): Promise<void> {
    await this.page.context().close()
  }
}

test(
  'users sign up, pay, run tasks and chat in their browsers, each on their own account',
  { timeout: timeoutMs },
  () =>
    withProduct(async (baseUrl, eventTypes) => {
      const ada = await Visitor.signedUp(baseUrl, 'Ada <b>')
      const bob = await Visitor.signedUp(baseUrl, 'Bob')
      try {
        await ada.hasBalance('$1.00')
        await ada.page.getByRole('button', { name: '$5.00' }).click()
        await ada.page.getByRole('heading', { name: 'Pay 5.00 USD' }).waitFor()
        await ada.page.locator('button[value=pay]').click()
        await ada.hasBalance('$6.00')

        await ada.page.getByRole('button', { name: 'Wait 2 seconds' }).click()
        await ada.page.getByText('Done. Cost:').waitFor()
        await ada.hasBalance('$5.999')
        await ada.page.getByRole('button', { name: /^Fail/ }).click()
        await ada.page.getByText('Refunded: $0.01').waitFor()
        await ada.hasBalance('$5.999')
        await expect.poll(() => eventTypes).toEqual(['task.completed', 'task.failed'])
        expect((await fetch(`${baseUrl}/events`, { method: 'POST', body: '{}' })).status).toBe(401)

        await ada.say('The secret word is juniper.')
        const [reply = ''] = await ada.replies(1)
        expect(reply.length).toBeGreaterThan(0)
        await expect.poll(() => ada.page.locator('.errand-balance').textContent()).not.toBe('$5.999')
        await bob.say('What is the secret word?')
        expect((await bob.replies(1)).join()).not.toContain('juniper')

        // A reopened page shows the messages of its user.
        await ada.page.reload()
        await expect
          .poll(() => ada.page.locator('.errand-text').allTextContents())
          .toEqual(['The secret word is juniper.', reply])
        expect([...ada.problems, ...bob.problems]).toEqual([])
        expect((await fetch(`${baseUrl}/start`, { method: 'POST' })).status).toBe(401)
      } finally {
        await ada.close()
        await bob.close()
      }
    }),
)

test('a reply continues after a reload, with its message', { timeout: timeoutMs }, () =>
  withProduct(async (baseUrl) => {
    const ada = await Visitor.signedUp(baseUrl, 'Ada')
    try {
      const stop = ada.page.getByRole('button', { name: 'Stop' })
      await ada.say('help')
      await stop.waitFor()
      await ada.page.reload()
      const texts = () => ada.page.locator('.errand-text').allTextContents()
      await expect.poll(texts).toEqual(['help', expect.stringMatching(/./)])
      await ada.page.getByRole('button', { name: 'Send' }).waitFor()
    } finally {
      await ada.close()
    }
  }),
)
