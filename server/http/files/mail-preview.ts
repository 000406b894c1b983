import { ErrandError } from '../../kernel/errors.ts'
import { exampleMail } from '../../mails/example-mails.ts'
import type { MailSender } from '../../mails/mail-sender.ts'
import { mailKinds } from '../../store/mails/mail-types.ts'
import { respond, withHeaders } from '../respond.ts'
import type { RoutedRequest } from '../routed-request.ts'

export const mailPreviewPath = '/admin/mail/preview/{kind}'

// The console's content security policy would block the inline styles of emails, and logos from other hosts.
const policy =
  "default-src 'none'; style-src 'unsafe-inline'; img-src https:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'; sandbox"

export function createMailPreview(mails: MailSender | undefined) {
  return ({ headers, params, response }: RoutedRequest): void => {
    const kind = mailKinds.find((one) => one === params['kind'])
    if (!kind) throw new ErrandError('NOT_FOUND', 'Kind of email not found. GET /api/admin/mail lists the kinds.')
    const { html } = exampleMail(kind, mails?.look)
    const own = { 'Content-Security-Policy': policy, 'X-Frame-Options': 'SAMEORIGIN', 'Referrer-Policy': 'no-referrer' }
    respond(response, { status: 200, type: 'text/html; charset=utf-8', text: html, headers: withHeaders(headers, own) })
  }
}
