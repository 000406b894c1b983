import { z } from 'zod'
import { isoTimestamp } from '../kernel/wire-types.ts'
import { MailAddress } from '../mails/mail-settings.ts'
import { mailKinds, mailStatuses } from '../store/mails/mail-types.ts'

const kind = z.enum(mailKinds)

export const Mail = z
  .object({
    server: z
      .object({
        host: z.string(),
        port: z.number().int(),
        tls: z.enum(['implicit', 'starttls', 'optional']).describe('`optional` uses STARTTLS if the server offers it'),
        from: z.string().describe('Sender of all emails'),
      })
      .nullable()
      .describe('Null if the service does not send email'),
    newest: z
      .array(
        z.object({
          id: z.string(),
          kind,
          email: z.string(),
          userId: z.string().nullable().describe('Null for links that create an account'),
          status: z.enum(mailStatuses),
          attempts: z.number().int(),
          error: z.string().nullable().describe('Error of the last attempt'),
          createdAt: isoTimestamp,
          attemptedAt: isoTimestamp.nullable(),
        }),
      )
      .describe('The newest 50 emails of the last four days'),
    previews: z
      .array(z.object({ kind, subject: z.string() }))
      .describe('All kinds of email. `/admin/mail/preview/KIND` shows an example to admins in a browser'),
  })
  .meta({ id: 'Mail' })

export const SendTestMailInput = z.object({ to: MailAddress })
export const SentTestMail = z
  .object({
    isAccepted: z.boolean().describe('Whether the mail server accepted the email'),
    error: z.string().nullable(),
  })
  .meta({ id: 'SentTestMail' })
