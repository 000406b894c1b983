import { z } from 'zod'
import { isoTime, isoTimeOrNull } from '../kernel/clock.ts'
import { ErrandError } from '../kernel/errors.ts'
import { exampleMail } from '../mails/example-mails.ts'
import { holdAnswer } from '../procedures/hold-answer.ts'
import { procedure, router, withAdmin } from '../procedures/procedure.ts'
import { mailKinds } from '../store/mails/mail-types.ts'
import { Mail, SendTestMailInput, SentTestMail } from './mail-schema.ts'
import type { AdminParts } from './system-state.ts'

const newestMax = 50
const tags = ['System']
const adminOnly = 'The caller is not an admin with a browser login.'

async function readMail({ mails, store }: AdminParts): Promise<z.output<typeof Mail>> {
  const newest = await store.mails.listNewest(newestMax)
  return {
    server: mails?.server ?? null,
    newest: newest.map(({ attemptedAt, createdAt, ...mail }) => ({
      ...mail,
      createdAt: isoTime(createdAt),
      attemptedAt: isoTimeOrNull(attemptedAt),
    })),
    previews: mailKinds.map((kind) => ({ kind, subject: exampleMail(kind, mails?.look).subject })),
  }
}

export const mailRouter = (parts: AdminParts) =>
  router({
    get: procedure
      .meta({
        openapi: {
          method: 'GET',
          path: '/api/admin/mail',
          operationId: 'getMail',
          tags,
          summary: 'Get the mail server and the newest emails (admins)',
          description: 'Does not return passwords, links or the texts of emails.',
          protect: true,
          successDescription: 'The mail server, the newest emails, and all kinds of email.',
          errorResponses: { 403: adminOnly },
        },
      })
      .input(z.object({}).optional())
      .output(Mail)
      .query(withAdmin(() => readMail(parts))),

    sendTest: procedure
      .meta({
        openapi: {
          method: 'POST',
          path: '/api/admin/mail/test',
          operationId: 'sendTestMail',
          tags,
          summary: 'Send a test email (admins)',
          description: 'Sends the email immediately, without retries, and waits up to 30 seconds for the mail server.',
          protect: true,
          successDescription: 'Whether the mail server accepted the email.',
          errorResponses: {
            400: 'The body is invalid.',
            403: adminOnly,
            404: 'The service does not send email.',
            413: 'The body is too large.',
            415: 'The body is not JSON.',
          },
        },
      })
      .input(SendTestMailInput)
      .output(SentTestMail)
      .mutation(
        withAdmin(async ({ ctx, input }) => {
          if (!parts.mails) throw new ErrandError('NOT_FOUND', 'This service does not send email. Set ERRAND_SMTP_URL.')
          holdAnswer(ctx)
          const error = await parts.mails.sendTest(input.to)
          return { isAccepted: error === null, error }
        }),
      ),
  })
