import type { Browser, BrowserContext, Page } from 'playwright-core'
import { expect, test } from 'vitest'
import quickstart from '../../examples/quickstart/errand.config.ts'
import { hashPassword } from '../../server/auth/logins/passwords.ts'
import { must } from '../../server/kernel/assert.ts'
import { parseUsd } from '../../server/kernel/money.ts'
import { builtConsole } from '../support/console-folder.ts'
import { startService, type TestService } from '../support/test-service.ts'
import { checkPage, settle } from './check-page.ts'
import { openBrowser } from './open-browser.ts'

type ServiceOptions = NonNullable<Parameters<typeof startService>[0]>
type ConsoleOptions = Pick<
  ServiceOptions,
  'baseUrl' | 'brand' | 'clock' | 'config' | 'limits' | 'mail' | 'payments' | 'port' | 'privateHosts' | 'signUp'
> & {
  balanceUsd?: string
  isAdmin?: boolean
}
type Visitor = { userId: string; email: string; password: string }

const timeoutMs = 300_000
const password = 'correct horse battery'

/**
 * Tests the console in a real browser, on the real service with the quickstart's agents, logged in as a user with a
 * balance. Fails on logged errors, uncaught errors and violations of the content security policy.
 */
export function testConsole(
  title: string,
  run: (opened: OpenConsole) => Promise<void>,
  options: ConsoleOptions = {},
): void {
  test(title, { timeout: timeoutMs }, async () => {
    const browser = await openBrowser()
    const { balanceUsd = '25.0000', isAdmin = false, ...own } = options
    const service = await startService({ config: quickstart, consoleFolder: builtConsole(), ...own })
    const opened = new OpenConsole(service, browser)
    try {
      await opened.start(await createVisitor(service, { balanceUsd, isAdmin }))
      await run(opened)
      expect(opened.problems, 'errors that the browser saw').toEqual([])
    } finally {
      await opened.close()
      await service.stop()
    }
  })
}

async function createVisitor(
  { app: { store } }: TestService,
  { balanceUsd, isAdmin }: { balanceUsd: string; isAdmin: boolean },
): Promise<Visitor> {
  const email = 'ada@example.com'
  const created = await store.createUser({ email, passwordHash: await hashPassword(password), isAdmin })
  if (created.outcome === 'refused') throw new Error(`${email} exists`)
  const { userId } = created
  const amount = must(parseUsd(balanceUsd), 'a decimal')
  if (amount > 0) await store.credit({ userId, amount, description: 'Test balance', idempotencyKey: null })
  return { userId, email, password }
}

export class OpenConsole {
  readonly service: TestService
  /** Problems in the browser. The test fails if any of them remain at the end. */
  readonly problems: string[] = []
  readonly #browser: Browser
  readonly #allowed: RegExp[] = []
  readonly #contexts: BrowserContext[] = []
  #page: Page | undefined
  #visitor: Visitor | undefined

  constructor(service: TestService, browser: Browser) {
    this.service = service
    this.#browser = browser
  }

  get page(): Page {
    return must(this.#page, 'an open console')
  }

  get visitor(): Visitor {
    return must(this.#visitor, 'an open console')
  }

  async start(visitor: Visitor): Promise<void> {
    this.#visitor = visitor
    this.#page = await this.newVisit()
    await this.page.goto(`${this.service.url}/login`)
    const status = await this.page.evaluate(
      async (body) =>
        (
          await fetch('/api/login', {
            method: 'POST',
            headers: { 'Content-Type': 'application/json' },
            body: JSON.stringify(body),
          })
        ).status,
      { email: visitor.email, password: visitor.password },
    )
    expect(status, 'the answer to the login').toBe(200)
  }

  /** Opens a page in a new browser context that is not logged in. */
  async newVisit(): Promise<Page> {
    const context = await this.#browser.newContext({
      baseURL: this.service.url,
      viewport: { width: 1280, height: 800 },
      reducedMotion: 'reduce',
      colorScheme: 'light',
      locale: 'en-GB',
      timezoneId: 'UTC',
      acceptDownloads: true,
      permissions: ['clipboard-read', 'clipboard-write'],
    })
    context.setDefaultTimeout(40_000)
    this.#contexts.push(context)
    await context.addInitScript(() => {
      document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI, sample }) => {
        console.error(`content security policy: ${violatedDirective} ${blockedURI} ${sample}`)
      })
    })
    context.on('console', (message) => {
      if (message.type() === 'error') this.#note(`${message.text()} (${message.location().url})`)
    })
    context.on('weberror', (error) => this.#note(`uncaught: ${error.error()}`))
    return await context.newPage()
  }

  /** Allows errors that the test provokes, such as /status of 404/ for an unknown task. */
  allow(problem: RegExp): void {
    this.#allowed.push(problem)
  }

  /** Opens a page of the console and waits for its content. */
  async open(path: string, page: Page = this.page): Promise<Page> {
    await page.goto(path)
    await settle(page)
    return page
  }

  /** Returns the curl command of the page's code examples. */
  async curl(page: Page = this.page): Promise<string> {
    await page.getByRole('button', { name: 'Code examples' }).click()
    const command = await page.getByRole('dialog').getByRole('group', { name: 'curl command' }).first().textContent()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
    return must(command, 'a command')
  }

  async check(name: string, page: Page = this.page): Promise<void> {
    await checkPage(page, name)
  }

  async close(): Promise<void> {
    for (const context of this.#contexts) await context.close()
  }

  #note(problem: string): void {
    if (!this.#allowed.some((allowed) => allowed.test(problem))) this.problems.push(problem)
  }
}
