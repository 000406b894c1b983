import { expect } from 'vitest'
import { MailCatcher, openSignUp, tokenIn } from '../../mails/mail-catcher.ts'
import { testConsole } from '../open-console.ts'

const catcher = await MailCatcher.start()

testConsole(
  'a visitor signs up with a mailed link, and an admin sees the mail',
  async (opened) => {
    try {
      const page = await opened.newVisit()
      await opened.open('/login', page)
      await page.getByRole('link', { name: 'Create an account' }).click()
      await page.waitForURL('**/sign-up')
      await opened.check('sign-up', page)
      await page.getByLabel('Email').fill('new@example.com')
      await page.keyboard.press('Enter')
      await page.getByRole('heading', { name: 'Check your email' }).waitFor()
      const [mail] = await catcher.waitFor('new@example.com')
      await opened.open(`/invitation#${tokenIn(mail!)}`, page)
      await page.getByLabel('Password', { exact: true }).fill('a long password of mine')
      await page.getByRole('button', { name: 'Create account' }).click()
      await page.waitForURL(`${opened.service.url}/`)

      await opened.open('/admin/invitations')
      await opened.page.getByText('Sign-up link').waitFor()

      await opened.open('/admin/mail')
      await opened.page.getByRole('row', { name: /Sign-up link new@example\.com Sent/ }).waitFor()
      await opened.page.getByRole('button', { name: 'Send test email' }).click()
      await opened.page.getByText('The server accepted the email').waitFor()
      expect(catcher.to(opened.visitor.email)).toMatchObject([{ subject: 'Test email' }])
      const frame = opened.page.frameLocator('iframe')
      await frame.getByRole('link', { name: 'Create your account' }).waitFor()
      await opened.check('admin-mail')
      await opened.page.getByRole('textbox', { name: 'Type of email' }).click()
      await opened.page.getByRole('option', { name: 'Low balance' }).click()
      await frame.getByText('below your threshold').waitFor()
    } finally {
      await catcher.stop()
    }
  },
  { isAdmin: true, mail: catcher.settings, signUp: openSignUp },
)
