import { writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import type { BrowserContext, Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { createChatServer } from '../../../examples/ai-sdk/chat-server.ts'
import { expectSound, filesIn, startTalk, Talker } from '../../chat/chat-checks.ts'
import { say, type Step } from '../../support/chat-agents.ts'
import { openResources } from '../../support/resources.ts'
import { openBrowser } from '../open-browser.ts'

// The example app in a browser, with its own transport and its server's routes.

const timeoutMs = 180_000

class ChatTab {
  readonly page: Page
  readonly #url: string

  private constructor(page: Page, url: string) {
    this.page = page
    this.#url = url
  }

  static async open(context: BrowserContext, url: string): Promise<ChatTab> {
    const tab = new ChatTab(await context.newPage(), url)
    await tab.load()
    return tab
  }

  async load(): Promise<void> {
    await this.page.goto(this.#url)
    await this.page.getByRole('heading', { name: 'A chat' }).waitFor()
  }

  async say(message: string): Promise<void> {
    await this.page.getByLabel('Message', { exact: true }).fill(message)
    await this.page.getByRole('button', { name: 'Send' }).click()
  }

  do(...steps: Step[]): Promise<void> {
    return this.say(say(...steps))
  }

  stop(): Promise<void> {
    return this.page.getByRole('button', { name: 'Stop' }).click()
  }

  async shows(...texts: string[]): Promise<void> {
    await expect.poll(() => this.page.locator('article.assistant > p').allTextContents()).toEqual(texts)
  }

  async hasStatus(status: string): Promise<void> {
    await this.page.getByRole('status').getByText(status, { exact: true }).waitFor()
  }

  costs(): Promise<(string | null)[]> {
    const replies = this.page.locator('article.assistant')
    return replies.evaluateAll((all) => all.map((reply) => reply.getAttribute('data-cost-usd')))
  }

  async hasEnded(): Promise<void> {
    await expect.poll(async () => (await this.costs()).at(-1)).toMatch(/^\d+\.\d{4}$/)
  }

  questions(): Promise<number> {
    return this.page.locator('article.user').count()
  }
}

async function withApp(
  { balanceUsd, by }: { by: string; balanceUsd: string },
  run: (app: { talker: Talker; context: BrowserContext; url: string; problems: string[] }) => Promise<void>,
): Promise<void> {
  const service = await startTalk()
  const talker = await Talker.create(service, { balanceUsd })
  const app = await createChatServer({ errandUrl: service.url, apiKey: talker.key, agentId: 'talk' })
  await new Promise<void>((resolve) => app.listen(0, '127.0.0.1', resolve))
  openResources.add('a chat app')
  const context = await (await openBrowser()).newContext()
  const problems: string[] = []
  context.on('weberror', (error) => problems.push(String(error.error())))
  try {
    const url = `http://127.0.0.1:${(app.address() as AddressInfo).port}/${by}`
    await run({ talker, context, url, problems })
    expect(problems).toEqual([])
    await talker.settled()
    await expectSound(talker)
  } finally {
    await context.close()
    app.closeAllConnections()
    await new Promise((resolve) => app.close(resolve))
    openResources.delete('a chat app')
    await service.stop()
  }
}

for (const [name, by] of [
  ['with a client token', ''],
  ['by routes of a server', '?by=route'],
] as const) {
  test(
    `${name}: replies are sent, stopped, resumed after a reload and shown in a second tab with costs`,
    { timeout: timeoutMs },
    () =>
      withApp({ by, balanceUsd: '10' }, async ({ context, talker, url }) => {
        const charges = async () => {
          const { body } = await talker.service.get('/api/transactions?type=chat_charge', talker.key)
          return body.transactions.map(({ amountUsd }: { amountUsd: string }) => amountUsd.replace('-', ''))
        }
        const tab = await ChatTab.open(context, url)
        await tab.say('Hello')
        await tab.shows('You said: Hello')
        await tab.hasEnded()
        expect(await charges()).toEqual(await tab.costs())

        await tab.do({ do: 'text', delta: 'Some text.' }, { do: 'await-abort' }, { do: 'text', delta: 'Never seen.' })
        await tab.shows('You said: Hello', 'Some text.')
        await tab.stop()
        await tab.hasStatus('ready')
        await tab.hasEnded()
        expect((await charges()).toReversed()).toEqual(await tab.costs())
        await tab.shows('You said: Hello', 'Some text.')

        const file = filesIn(talker.service)('go')
        await tab.do(
          { do: 'call', id: 'a', arguments: {} },
          { do: 'result', id: 'a', output: {} },
          { do: 'text', delta: 'One. ' },
          { do: 'await-file', file },
          { do: 'text', delta: 'Two.' },
        )
        const before = ['You said: Hello', 'Some text.', 'look: output-available']
        await tab.shows(...before, 'One. ')
        await tab.load()
        await tab.shows(...before, 'One. ')
        await tab.hasStatus('streaming')
        const second = await ChatTab.open(context, url)
        await second.shows(...before, 'One. ')
        expect([await tab.questions(), await second.questions()]).toEqual([3, 3])
        writeFileSync(file, '')
        for (const each of [tab, second]) {
          await each.shows(...before, 'One. Two.')
          await each.hasEnded()
          await each.hasStatus('ready')
        }
        const [latest] = await charges()
        expect([(await tab.costs()).at(-1), (await second.costs()).at(-1)]).toEqual([latest, latest])
        expect(await charges()).toHaveLength(3)
        await tab.load()
        await tab.shows(...before, 'One. Two.')
        expect(await tab.questions()).toBe(3)
        expect(await tab.page.getByRole('alert').count()).toBe(0)
      }),
  )

  test(`${name}: reports a missing balance, and continues after a credit`, { timeout: timeoutMs }, () =>
    withApp({ by, balanceUsd: '0' }, async ({ context, talker, url }) => {
      const tab = await ChatTab.open(context, url)
      await tab.say('Hello')
      await tab.page.getByRole('alert').filter({ hasText: 'balance' }).waitFor()
      await tab.hasStatus('error')
      const { store } = talker.service.app
      const { userId } = talker.person
      await store.credit({ userId, amount: 10_000, description: 'A credit', idempotencyKey: null })
      await tab.say('Hello again')
      await tab.shows('You said: Hello again')
      await tab.hasEnded()
      expect(await tab.page.getByRole('alert').count()).toBe(0)
    }),
  )
}
