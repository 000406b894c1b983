import { isoTime } from '../kernel/clock.ts'
import type { LeasedMail } from '../store/mails/mail-types.ts'
import type { OutgoingMail } from './outgoing-mail.ts'

type Content = {
  subject: string
  paragraphs: readonly string[]
  link: { label: string; url: string }
}

export type MailLook = {
  name: string
  baseUrl: string
  logoUrl?: string | undefined
  /** Email address or URL where users get help. */
  support?: string | undefined
}

type Facts = Pick<LeasedMail, 'kind' | 'email' | 'data' | 'createdAt' | 'expiresAt'> &
  MailLook & {
    /** The secret link in an invitation or password email. */
    url: string
  }

export function renderMail(facts: Facts): Pick<OutgoingMail, 'subject' | 'text' | 'html'> {
  const { link, paragraphs, subject } = contentOf(facts)
  const help = facts.support === undefined ? '' : ` Support: ${facts.support}`
  const footer = `This is an automated email from ${facts.name}.${help}`
  const text = [...paragraphs, `${link.label}:\n${link.url}`, `-- \n${footer}`].join('\n\n')
  const logo = facts.logoUrl && `<p><img src="${escape(facts.logoUrl)}" alt="${escape(facts.name)}" height="40"></p>`
  const html = [
    '<!doctype html><html lang="en"><body style="font-family:sans-serif;font-size:16px;line-height:1.5;max-width:36em">',
    ...(logo ? [logo] : []),
    ...paragraphs.map((paragraph) => `<p>${escape(paragraph)}</p>`),
    `<p><a href="${escape(link.url)}">${escape(link.label)}</a></p>`,
    `<p style="font-size:13px;opacity:.7">${escape(footer)}</p></body></html>`,
  ].join('\n')
  return { subject: subject.replaceAll(/\s+/g, ' '), text: `${text}\n`, html }
}

function contentOf({ baseUrl, createdAt, data, email, expiresAt, kind, name, url }: Facts): Content {
  const field = (of: string) => String(data[of] ?? '')
  const usd = (of: string) => usdText(field(of))
  const once = `The link works only once and expires on ${timeText(isoTime(expiresAt))}. Do not share it.`
  const billing = { label: 'Open billing', url: `${baseUrl}/billing` }
  const owed =
    usd('owedUsd') === '$0.00' ? [] : [`Your account owes ${usd('owedUsd')}. Your next top-up will pay this off first.`]
  const payment = `Payment ID: ${field('topupId')}`
  switch (kind) {
    case 'invitation':
      return {
        subject: `Your invitation to ${name}`,
        paragraphs: [
          `You have been invited to create an account with ${name} for ${email}.`,
          `${once} If you did not expect this invitation, ignore this email.`,
        ],
        link: { label: 'Create your account', url },
      }
    case 'sign-up':
      return {
        subject: `Confirm your email address for ${name}`,
        paragraphs: [
          `Someone, probably you, asked to create an account with ${name} for ${email}.`,
          `${once} If it was not you, ignore this email, and no account will be created.`,
        ],
        link: { label: 'Create your account', url },
      }
    case 'account.exists':
      return {
        subject: `You already have an account with ${name}`,
        paragraphs: [
          `Someone, probably you, tried to create an account with ${name} for ${email}, but this address already has one.`,
          'Log in instead. If you forgot your password, you can reset it on the login page.',
        ],
        link: { label: 'Log in', url: `${baseUrl}/login` },
      }
    case 'password':
      return {
        subject: `Reset your ${name} password`,
        paragraphs: [
          `Someone, probably you, asked to reset the ${name} password for ${email}.`,
          `${once} If it was not you, ignore this email, and your password will not change.`,
        ],
        link: { label: 'Choose a new password', url },
      }
    case 'balance.low':
      return {
        subject: `Your ${name} balance is low`,
        paragraphs: [
          `The balance of ${email} was ${usd('balanceUsd')} on ${timeText(isoTime(createdAt))}, below your threshold of ` +
            `${usd('notifyBelowUsd')}.`,
          'Tasks and messages that cost more than the balance are rejected. Add credit to continue.',
        ],
        link: billing,
      }
    case 'payment.succeeded':
      return {
        subject: `Receipt for your payment to ${name}`,
        paragraphs: [
          `${name} received your payment of ${usd('amountUsd')} and added it to the balance of ${email}.`,
          `Amount: ${usd('amountUsd')}\nDate: ${timeText(isoTime(createdAt))}\n${payment}`,
        ],
        link: billing,
      }
    case 'payment.refunded':
      return {
        subject: `Refund from ${name}`,
        paragraphs: [
          `A total of ${usd('refundedUsd')} of your ${usd('amountUsd')} payment has been refunded. ` +
            `The balance of ${email} was adjusted accordingly.`,
          ...owed,
          payment,
        ],
        link: billing,
      }
    case 'payment.disputed':
      return {
        subject: `Your payment to ${name} is disputed`,
        paragraphs: [
          `${usd('disputedUsd')} of your ${usd('amountUsd')} payment is now disputed. ` +
            `The balance of ${email} was adjusted accordingly. ` +
            'A disputed amount returns to the balance if the dispute is withdrawn or rejected.',
          ...owed,
          payment,
        ],
        link: billing,
      }
    case 'webhook.disabled':
      return {
        subject: `Your ${name} webhook was disabled`,
        paragraphs: [
          `The webhook ${field('url')} of the account ${email} was disabled.`,
          field('reason') === 'gone'
            ? 'Its endpoint responded with status 410 (Gone).'
            : 'All deliveries to it failed for three days.',
          'It will not receive events until you enable it again.',
        ],
        link: { label: 'Open webhooks', url: `${baseUrl}/settings/webhooks` },
      }
    case 'key.expiring':
      return {
        subject: `Your ${name} API key expires soon`,
        paragraphs: [
          `The API key "${field('name')}" (ending in ${field('hint')}) of ${email} expires on ` +
            `${timeText(field('expiresAt'))}. Other API keys in your account may also expire soon.`,
          'Requests with an expired key are rejected. Rotate the key before it expires.',
        ],
        link: { label: 'Open API keys', url: `${baseUrl}/settings/keys` },
      }
  }
}

function usdText(amount: string): string {
  return `$${amount.replace(/00$/, '')}`
}

/** Formats an ISO time like `2027-01-31 09:30 UTC`. */
function timeText(iso: string): string {
  return `${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC`
}

function escape(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll('\n', '<br>')
}
