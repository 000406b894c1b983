import { resolveMail } from '../app/config.ts'
import { resolveBrand } from '../app/resolve-brand.ts'
import { UsageError } from '../kernel/usage-error.ts'
import { MailAddress } from '../mails/mail-settings.ts'
import { openSmtp } from '../mails/smtp-port.ts'
import { testMail as testMailTo } from '../mails/test-mail-text.ts'
import { print } from './open-store.ts'

const waitMs = 60_000

export async function testMail(to: string, options: { json?: boolean }): Promise<void> {
  const settings = resolveMail()
  if (!settings) throw new UsageError('ERRAND_SMTP_URL: must be set to send email')
  if (!MailAddress.safeParse(to).success) throw new UsageError(`"${to}" must be an email address`)
  try {
    await openSmtp(settings).send(testMailTo(resolveBrand().name, to), AbortSignal.timeout(waitMs))
  } catch (error) {
    throw new Error(`Could not send the email (${(error as Error).message}). Check ERRAND_SMTP_URL.`, { cause: error })
  }
  const host = `${settings.host}:${settings.port}`
  print(options, { to, host }, `${host} accepted an email to ${to}. Check that it arrives.`)
}
