import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { testConsole, type OpenConsole } from '../open-console.ts'

const text = 'Bees make honey. Bees live in hives.'

const runButton = (page: Page) => page.getByRole('button', { name: /^Run / })

async function balanceOf({ service, visitor }: OpenConsole): Promise<number | undefined> {
  return (await service.app.store.getAccount(visitor.userId))?.balance
}

testConsole(
  'shows a low balance in advance, and when the service rejects the run',
  async (opened) => {
    opened.allow(/status of 403/)
    const page = await opened.open('/agents/text?endpoint=text.summarize')
    await page.getByText('Insufficient balance').waitFor()
    await page.getByText('Costs $0.0100; $0.0050 short').waitFor()
    await page.getByLabel('Text', { exact: false }).first().fill(text)
    await runButton(page).click()
    const alert = page.getByRole('alert').filter({ hasText: 'Insufficient balance' })
    await alert.getByText(/balance of \$0\.0050 is lower than the required \$0\.0100/).waitFor()
    await opened.check('agent-balance')
    expect(await page.getByLabel('Text', { exact: false }).first().inputValue(), 'the params stay').toBe(text)
  },
  { balanceUsd: '0.0050' },
)

testConsole(
  'at the rate limit, the page shows when to retry, and the rejected run is not charged',
  async (opened) => {
    opened.allow(/status of 429/)
    const page = await opened.open('/agents/demo?endpoint=demo.wait')
    await page.getByLabel('Seconds').fill('0')
    await runButton(page).click()
    await page.waitForURL('**/tasks/task_*')
    await page.goBack()
    await runButton(page).click()
    await page.getByText('Rate limit reached').waitFor()
    await page
      .getByRole('timer')
      .getByText(/^\d+ s left$/)
      .waitFor()
    await opened.check('agent-rate')
    expect(await balanceOf(opened)).toBe(249_990)
  },
  { limits: { executionsPerMinute: 1 } },
)

testConsole(
  'a failed task shows its error and its refund, and a block shows its duration',
  async (opened) => {
    const page = await opened.open('/agents/demo?endpoint=demo.fail')
    await page.getByLabel('Reason').fill('The sky\nis falling.')
    await runButton(page).click()
    await page.waitForURL('**/tasks/task_*')
    await page.getByText('The charge was refunded in full.').waitFor()
    await page.getByText('AGENT_ERROR').waitFor()
    await page.getByText('+$0.0100').first().waitFor()
    await page.getByText('$0.0000, $0.0100 refunded').waitFor()
    expect(await page.getByText('Details:').count(), 'Error, which says nothing').toBe(0)
    const taskId = new URL(page.url()).pathname.split('/').at(-1)!
    expect(await page.getByRole('link', { name: 'Receipt' }).getAttribute('href')).toBe(
      `/billing/receipt?taskId=${taskId}`,
    )
    await page.getByRole('link', { name: /25\.00/ }).waitFor()
    await page.getByText(/^Too many of your tasks failed in a short time/).waitFor()
    await opened.check('task-failed')

    await page.getByRole('link', { name: 'Run again' }).click()
    expect(await page.getByLabel('Reason').inputValue()).toBe('The sky\nis falling.')
    const alert = page.getByRole('alert', { name: 'Tasks are temporarily blocked' })
    await alert.waitFor()
    expect(await runButton(page).isDisabled()).toBe(true)
    expect(await alert.locator('time').count(), 'when it ends is said once').toBe(1)
    expect(await alert.textContent()).not.toMatch(/\dT\d/)
    await opened.check('agent-blocked')

    await opened.open('/tasks')
    await page.getByRole('row', { name: new RegExp(`demo.fail …${taskId.slice(-8)}.*refunded \\$0.0100`) }).waitFor()
    await opened.check('tasks-refunded')
  },
  { limits: { abuseFailures: 1 } },
)

testConsole('a run whose response was lost is charged once if it is retried', async (opened) => {
  opened.allow(/ERR_FAILED/)
  const page = await opened.open('/agents/demo?endpoint=demo.wait')
  await page.getByLabel('Seconds').fill('0')
  await page.route(/tasks\.create/, async (route) => {
    // The test sends the request with the browser's headers, so that the response never reaches the page.
    const request = route.request()
    const cookies = await page.context().cookies()
    const headers = new Headers(request.headers())
    headers.set('Origin', opened.service.url)
    headers.set('Cookie', cookies.map(({ name, value }) => `${name}=${value}`).join('; '))
    const sent = await fetch(request.url(), { method: 'POST', headers, body: request.postData() })
    expect(sent.status).toBe(200)
    await route.abort()
  })
  await runButton(page).click()
  await page.getByText('The task may not have been created').waitFor()
  expect(await balanceOf(opened), 'it was created all the same').toBe(249_990)
  await page.unroute(/tasks\.create/)
  await runButton(page).click()
  await page.waitForURL('**/tasks/task_*')
  await page.getByRole('heading', { name: 'Result' }).waitFor()
  expect(await balanceOf(opened)).toBe(249_990)
})
