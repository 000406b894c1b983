import { join } from 'node:path'
import { expect } from 'vitest'
import { FakeClock } from '../../support/fake-clock.ts'
import { screenshots, settle } from '../check-page.ts'
import { testConsole } from '../open-console.ts'

const dayMs = 86_400_000
const days = 13
/** Returns the number of tasks on a day. Every fifth task fails and is refunded. */
const tasksOf = (day: number) => 2 + ((day * 7) % 9)
const table = 'city,month,amount\nBerlin,May,1204.50\nParis,May,980.00\nBerlin,June,1310.25\nParis,June,1122.75'

const clock = new FakeClock(Date.now() - days * dayMs)

// The pictures in the README are copies of these screenshots from test/.output/screenshots.
testConsole(
  'the overview totals of two weeks of tasks and a chat add up',
  async (opened) => {
    const { service, visitor } = opened
    const key = await service.createKey(visitor.userId)
    const text = 'Errand charges a task when it is created. A task that fails is refunded in full.'
    let tasks = 0
    let failures = 0
    for (let day = 0; day < days; day++) {
      for (let task = 0; task < tasksOf(day); task++) {
        const fails = ++tasks % 5 === 0
        if (fails) failures++
        await service.runTask(key, fails ? 'demo.fail' : 'text.summarize', { text })
      }
      clock.advance(dayMs)
    }
    // Logs in again, because the first login has expired during the simulated days.
    await opened.start(visitor)
    const page = await opened.open('/chat?new=yes')
    await page.getByRole('radio', { name: /assistant/i }).check()
    const message = page.getByRole('textbox', { name: /message/i })
    await message.fill(`${table}\n\nWhat is the total amount by city?`)
    await message.press('Enter')
    await page.getByText('Receipt').first().waitFor()
    await settle(page)
    await page.screenshot({ path: join(screenshots, 'readme-chat.png'), animations: 'disabled' })

    await opened.open('/')
    const charged = (tasks * 0.01).toFixed(4)
    await page.getByRole('img', { name: `$${(failures * 0.01).toFixed(4)} refunded` }).waitFor()
    await page.locator('[data-bar]').first().waitFor()
    const spent = await page.getByRole('img', { name: 'last 30 days' }).getAttribute('aria-label')
    // The only other charge is for the chat and is less than a cent.
    const [, total = '0'] = /\$([\d.]+) charged/.exec(spent ?? '') ?? []
    expect(Number(total)).toBeGreaterThanOrEqual(Number(charged))
    expect(Number(total) - Number(charged)).toBeLessThan(0.01)
    await page.screenshot({ path: join(screenshots, 'readme-overview.png'), animations: 'disabled' })
  },
  { clock, limits: { executionsPerMinute: 0, abuseFailures: 0 } },
)
