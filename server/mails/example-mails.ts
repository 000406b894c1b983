import type { MailKind } from '../store/mails/mail-types.ts'
import { renderMail, type MailLook } from './mail-texts.ts'
import type { OutgoingMail } from './outgoing-mail.ts'

const createdAt = Date.UTC(2027, 0, 31, 9, 30)
const payment = { amountUsd: '25.0000', owedUsd: '0.0000', topupId: 'topup_example' }
const dataOf: Partial<Record<MailKind, Record<string, string>>> = {
  'balance.low': { balanceUsd: '0.8000', notifyBelowUsd: '1.0000' },
  'payment.succeeded': payment,
  'payment.refunded': { ...payment, refundedUsd: '5.0000' },
  'payment.disputed': { ...payment, disputedUsd: '25.0000', owedUsd: '3.0000' },
  'webhook.disabled': { url: 'https://hooks.example.com/errand', reason: 'failing' },
  'key.expiring': { name: 'Production', hint: 'x7Qz', expiresAt: '2027-02-07T09:30:00.000Z' },
}
const defaultLook: MailLook = { name: 'Errand', baseUrl: 'https://agents.example.com' }

/** Renders an email with example data. Its links do not work. */
export function exampleMail(kind: MailKind, look = defaultLook): Pick<OutgoingMail, 'subject' | 'text' | 'html'> {
  const email = 'ada@example.com'
  const url = `${look.baseUrl}/invitation#example`
  return renderMail({
    ...look,
    kind,
    email,
    url,
    data: dataOf[kind] ?? {},
    createdAt,
    expiresAt: createdAt + 3_600_000,
  })
}
