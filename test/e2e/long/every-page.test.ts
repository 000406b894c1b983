import { afterAll, expect } from 'vitest'
import { z } from 'zod'
import quickstart from '../../../examples/quickstart/errand.config.ts'
import { defineConfig, defineEndpoint } from '../../../server/agents/config/define-config.ts'
import { eventsPath } from '../../api/paying.ts'
import { StripeStub } from '../../payments/stripe-stub.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { startReceiver } from '../../webhooks/receiver.ts'
import { callApi, createChat } from '../chat-console.ts'
import { settle } from '../check-page.ts'
import { testConsole, type OpenConsole } from '../open-console.ts'
import { observeShift, pageFaults, shiftOf } from '../page-faults.ts'

const stub = await StripeStub.start()
afterAll(() => stub.stop())

const dayMs = 86_400_000
const days = 5
const tasksPerDay = 11
const widths = [390, 1024, 1280, 1440, 1920]
const phone = 390
const shiftMax = 0.05
/** Maximum height of a page on a phone. The list of tasks has 25 rows. */
const phoneHeight = 3500
const phoneHeights: Readonly<Record<string, number>> = { '/tasks': 2000 }
const clock = new FakeClock(Date.now() - days * dayMs)

const statement = defineEndpoint({
  description: 'Reconciles the statements of a quarter with the invoices of all subsidiaries.',
  pricing: { events: { statementLine: '0.1234' }, maxUsd: '98765.4321' },
  params: z.object({ reference: z.string() }),
  run: ({ charge, log, params, progress }) => {
    charge('statementLine', 100_000)
    log('Read the statements of a subsidiary with a very long name', { subsidiary: 'Northern Reconciliation Holding' })
    progress({ fraction: 1, message: 'Compared all lines of all statements with the invoices of the quarter' })
    const lines = [1, 2, 3].map((line) => ({
      line,
      invoice: `INV-2026-${line}`,
      description: 'Consulting services for the reconciliation of statements',
      quantity: 1200.5,
      netAmount: 132.380_333_333_33,
      vatRate: 0.19,
      total: 157.532_596_666_66,
    }))
    return { reference: params.reference, summary: '# Report\n\n| Region | Sum |\n| --- | --- |\n| North | 1 |', lines }
  },
})

const config = defineConfig({
  ...quickstart,
  agents: [
    ...quickstart.agents,
    {
      kind: 'code',
      id: 'quarterly-statement-reconciliation',
      name: 'Reconciliation of quarterly statements',
      endpoints: { compareAllStatementsWithInvoices: statement },
    },
  ],
  plans: { enterprise: { executionsPerMinute: 1000, spendPerDayUsd: '500000.0000' } },
  defaultPlan: 'enterprise',
})
const long = 'quarterly-statement-reconciliation.compareAllStatementsWithInvoices'

/** Fills the account with long names, large amounts and every kind of object. Returns the paths of all pages. */
async function fill(opened: OpenConsole): Promise<{ paths: string[]; end: () => Promise<void> }> {
  const { service, visitor } = opened
  const key = await service.createKey(visitor.userId)
  for (let day = 0; day < days; day++) {
    for (let n = 0; n < tasksPerDay; n++) {
      const fails = n % 5 === 0
      await service.runTask(key, fails ? 'demo.fail' : 'text.keywords', fails ? { reason: 'INV 1357' } : { text: 'A' })
    }
    clock.advance(dayMs)
  }
  // Logs in again, because the first login has expired during the simulated days.
  await opened.start(visitor)
  const { page } = opened
  stub.endpoint = service.url + eventsPath
  const receiver = await startReceiver()
  receiver.answers.set('/broken', 500)
  const call = async (method: string, path: string, body?: unknown) => {
    const answer = await callApi(page, method, path, body)
    if (answer.statusCode >= 400) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`)
    return answer
  }
  const name = 'Production backend of the accounting department in Oslo'
  const limits = { limitUsd: '200000', limitReset: 'month', executionsPerMinute: 100, agents: ['text'] }
  const limited = await call('POST', '/api/keys', { name, ...limits })
  const webhook = await call('POST', '/api/webhooks', { url: `${receiver.url}/broken`, description: name })
  await call('POST', '/api/connectors', { name, url: 'http://127.0.0.1:9/mcp' })
  await call('POST', '/api/invitations', { email: 'somebody.with.a.long.name@subsidiary.example.com' })
  const platformKey = await call('POST', '/api/platform-keys', { name, scopes: ['act', 'users'] })
  for (const amountUsd of ['1000.00', '25.00', '40.00']) {
    const topup = await call('POST', '/api/topups', { amountUsd })
    if (amountUsd !== '40.00') stub.pay(stub.sessionOf(topup.id))
  }
  const other = await service.createPerson({ email: 'somebody@example.com', balanceUsd: '123456.7890' })
  const failed = await service.runTask(other.key, 'demo.fail', { reason: 'INV 1357 is missing' })
  const task = await service.runTask(key, long, { reference: 'Q3' })
  expect(task.status).toBe('completed')
  const seen = await service.runTask(other.key, long, { reference: 'Q3' })
  const session = await createChat(page, 'assistant', ['What is the total amount by city, and how did it change?'])
  await receiver.waitFor(1, '/broken')
  const paths = [
    '/',
    '/agents',
    '/agents/data',
    `/agents/quarterly-statement-reconciliation?endpoint=${long}`,
    '/tasks',
    `/tasks/${task.id}`,
    '/chat',
    `/chat/${session}`,
    '/usage',
    '/billing',
    '/billing?tab=payments',
    '/billing/statement',
    '/settings/keys',
    `/settings/keys/${limited.id}`,
    '/settings/connectors',
    '/settings/webhooks',
    `/settings/webhooks/${webhook.id}`,
    '/settings/password',
    '/settings/logins',
    '/admin/overview',
    '/admin/users',
    `/admin/users/${visitor.userId}`,
    `/admin/users/${other.userId}/tasks/${failed.id}`,
    `/admin/users/${other.userId}/tasks/${seen.id}`,
    '/admin/plans',
    '/admin/economics',
    '/admin/audit',
    '/admin/payments',
    '/admin/invitations',
    '/admin/platform-keys',
    `/admin/platform-keys/${platformKey.id}`,
    '/admin/agents',
    '/admin/system',
  ]
  return { paths, end: () => receiver.stop() }
}

testConsole(
  'no page is broken at any width, and none shifts while it loads',
  async (opened) => {
    const { end, paths } = await fill(opened)
    const { page } = opened
    await observeShift(page)
    const faults: string[] = []
    for (const path of paths) {
      for (const width of widths) {
        await page.setViewportSize({ width, height: width === phone ? 844 : 900 })
        if (width === phone || width === 1280) {
          await opened.open(path)
          const { largest, total } = await shiftOf(page)
          if (total > shiftMax) faults.push(`${path}, ${width}: shifts by ${total.toFixed(2)}: ${largest}`)
        }
        await settle(page)
        const height = await page.evaluate(() => document.documentElement.scrollHeight)
        if (width === phone && height > (phoneHeights[path] ?? phoneHeight))
          faults.push(`${path}: ${height} px high on a phone`)
        for (const fault of await pageFaults(page)) faults.push(`${path}, ${width}: ${fault}`)
      }
    }
    await end()
    // As a string, so that the failure names the faults.
    expect(faults.join('\n')).toBe('')
  },
  {
    clock,
    config,
    payments: stub.settings,
    balanceUsd: '654321.9876',
    isAdmin: true,
    limits: { executionsPerMinute: 0, abuseFailures: 0 },
    privateHosts: ['127.0.0.1'],
  },
)
