import { expect } from 'vitest'
import { unreachableMail } from '../../mails/mail-catcher.ts'
import { testConsole } from '../open-console.ts'

testConsole(
  'a forgotten password is reset by mail, and admins see that mail is delayed',
  async (opened) => {
    const page = await opened.newVisit()
    await opened.open('/login', page)
    await page.getByRole('link', { name: 'Forgot password?' }).click()
    await page.waitForURL('**/forgot-password')
    await page.getByRole('button', { name: 'Send link' }).click()
    await page.getByText('Enter your email').waitFor()
    expect(await page.evaluate(() => document.activeElement?.getAttribute('name'))).toBe('email')
    await opened.check('forgot-password', page)
    await page.getByLabel('Email').fill(opened.visitor.email)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Check your email' }).waitFor()
    await opened.check('forgot-password-sent', page)

    await expect
      .poll(async () => (await opened.service.app.store.mails.readState()).lastError?.error)
      .toContain('ECONNREFUSED')
    await opened.open('/admin/system')
    await opened.page.getByText('Email is delayed: 1 waiting').waitFor()
    await opened.page.getByText('ECONNREFUSED').waitFor()
    await opened.check('system-mail')
  },
  { isAdmin: true, mail: unreachableMail },
)

testConsole('without mail the login page refers to an admin', async (opened) => {
  const page = await opened.newVisit()
  await opened.open('/login', page)
  await page.getByText('An admin can send you a link').waitFor()
  expect(await page.getByRole('link', { name: 'Forgot password?' }).count()).toBe(0)
})
