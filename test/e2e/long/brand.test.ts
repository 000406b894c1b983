import { expect } from 'vitest'
import { testConsole } from '../open-console.ts'

const wordmark = (color: string, width: number) => ({
  type: 'image/svg+xml',
  content: Buffer.from(
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} 30"><text y="24" font-size="26" fill="${color}">ACME</text></svg>`,
  ),
})

testConsole(
  'the console shows the name, logos, support address and seller of the operator',
  async (opened) => {
    const visit = await opened.newVisit()
    await opened.open('/login', visit)
    await visit.getByRole('heading', { name: 'Log in to Acme Agents' }).waitFor()
    expect(await visit.title()).toBe('Log in to Acme Agents · Acme Agents')
    expect(await visit.getByRole('link', { name: 'Contact support' }).getAttribute('href')).toBe(
      'mailto:help@acme.example',
    )
    await opened.check('brand-login', visit)

    const page = await opened.open('/')
    const logo = page.getByRole('banner').getByRole('img', { name: 'Acme Agents' })
    const shown = () =>
      logo.evaluate((image: HTMLImageElement) => [new URL(image.src).pathname, image.naturalWidth > 0])
    expect(await shown()).toEqual(['/logo', true])
    expect(await page.getByRole('banner').getByText('Errand').count()).toBe(0)
    await page.emulateMedia({ colorScheme: 'dark' })
    await page.waitForSelector('html[data-mantine-color-scheme="dark"]')
    expect(await shown()).toEqual(['/logo-dark', true])
    await page.emulateMedia({ colorScheme: 'light' })
    await page.getByRole('button', { name: 'Account' }).click()
    await page.getByRole('menuitem', { name: 'Contact support' }).waitFor()
    await page.keyboard.press('Escape')
    await opened.check('brand-overview')

    const { id } = (
      await opened.service.app.store.listTransactions({ userId: opened.visitor.userId, limit: 1, offset: 0 })
    ).transactions[0]!
    await opened.open(`/billing/receipt?transactionId=${id}`)
    await page.getByText('VAT ID DE123456789').waitFor()
  },
  {
    brand: {
      name: 'Acme Agents',
      support: 'help@acme.example',
      seller: ['Acme GmbH', 'Main Street 1, 10115 Berlin', 'VAT ID DE123456789'],
      logo: wordmark('#123', 75),
      darkLogo: wordmark('#def', 400),
    },
  },
)
