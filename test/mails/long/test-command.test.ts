import { expect, test } from 'vitest'
import { runErrand } from '../../support/test-process.ts'
import { MailCatcher } from '../mail-catcher.ts'

test('the test command reports whether the mail server accepts a mail', async () => {
  const catcher = await MailCatcher.start()
  const send = (address: string, env: Record<string, string> = catcher.env) =>
    runErrand(['mail', 'test', address], env).catch(({ code, stderr }) => `${code} ${stderr}`)
  expect(await send('me@example.com')).toMatch(/^127\.0\.0\.1:\d+ accepted an email to me@example\.com\./)
  expect(catcher.to('me@example.com')).toMatchObject([{ subject: 'Test email' }])
  catcher.refuse = () => 550
  expect(await send('me@example.com')).toMatch(
    /^1 errand: Could not send the email \(.*550.*\)\. Check ERRAND_SMTP_URL\./,
  )
  expect(await send('me@example.com', {})).toMatch(/^2 errand: ERRAND_SMTP_URL: must be set/)
  expect(await send('me')).toMatch(/^2 errand: "me" must be an email address/)
  await catcher.stop()
})
