import { isoTime } from '../kernel/clock.ts'
import type { LeasedMail } from '../store/mails/mail-types.ts'
import type { OutgoingMail } from './outgoing-mail.ts'

type Content = {
  subject: string
  paragraphs: readonly string[]
  link: { label: string; url: string }
}

export type MailLook = { name: string; baseUrl: string; logoUrl?: string }

type Facts = Pick<LeasedMail, 'kind' | 'email' | 'data' | 'createdAt' | 'expiresAt'> &
  MailLook & {
    /** The secret link in an invitation or password email. */
    url: string
  }

export function renderMail(facts: Facts): Pick<OutgoingMail, 'subject' | 'text' | 'html'> {
  const { link, paragraphs, subject } = contentOf(facts)
  const footer = `This is an automatic mail from ${facts.name}.`
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
  const once = `The link works once, until ${timeText(isoTime(expiresAt))}. Don't share it.`
  const billing = { label: 'Open billing', url: `${baseUrl}/billing` }
  const owed =
    usd('owedUsd') === '$0.00' ? [] : [`Your account owes ${usd('owedUsd')}. Your next top-up pays it first.`]
  const payment = `Payment: ${field('topupId')}`
  switch (kind) {
    case 'invitation':
      return {
        subject: `Your invitation to ${name}`,
        paragraphs: [
          `You are invited to create an account at ${name} for ${email}.`,
          `${once} If you did not expect this invitation, ignore this mail.`,
        ],
        link: { label: 'Create your account', url },
      }
    case 'sign-up':
      return {
        subject: `Confirm your email address for ${name}`,
        paragraphs: [
          `Someone, probably you, wants to create an account at ${name} for ${email}.`,
          `${once} If it was not you, ignore this mail. No account is created.`,
        ],
        link: { label: 'Create your account', url },
      }
    case 'account.exists':
      return {
        subject: `You already have an account at ${name}`,
        paragraphs: [
          `Someone, probably you, tried to create an account at ${name} for ${email}, which already has one.`,
          'Log in instead. If you forgot your password, you can reset it on the login page.',
        ],
        link: { label: 'Log in', url: `${baseUrl}/login` },
      }
    case 'password':
      return {
        subject: `Reset your ${name} password`,
        paragraphs: [
          `Someone, probably you, requested a password reset for ${email} at ${name}.`,
          `${once} If you did not request it, ignore this mail. Your password stays the same.`,
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
          `Refunds of your payment of ${usd('amountUsd')} now total ${usd('refundedUsd')}. The balance of ${email} was ` +
            'adjusted accordingly.',
          ...owed,
          payment,
        ],
        link: billing,
      }
    case 'payment.disputed':
      return {
        subject: `Dispute of your payment to ${name}`,
        paragraphs: [
          `${usd('disputedUsd')} of your payment of ${usd('amountUsd')} is now disputed. The balance of ${email} was ` +
            'adjusted accordingly.',
          ...owed,
          payment,
        ],
        link: billing,
      }
    case 'webhook.disabled':
      return {
        subject: `A webhook was disabled at ${name}`,
        paragraphs: [
          `The webhook ${field('url')} of ${email} was disabled.`,
          field('reason') === 'gone'
            ? 'Its endpoint responded with the status 410 (Gone).'
            : 'All of its deliveries failed for three days.',
          'It receives no events until you enable it again.',
        ],
        link: { label: 'Open webhooks', url: `${baseUrl}/settings/webhooks` },
      }
    case 'key.expiring':
      return {
        subject: `An API key expires soon at ${name}`,
        paragraphs: [
          `The API key "${field('name')}" ending in ${field('hint')} of ${email} expires on ` +
            `${timeText(field('expiresAt'))}. Other keys of your account may expire soon too.`,
          'Requests with an expired key are rejected. Rotate the key to replace it.',
        ],
        link: { label: 'Open API keys', url: `${baseUrl}/settings/keys` },
      }
  }
}

function usdText(amount: string): string {
  return `$${amount.replace(/00$/, '')}`
}

/** Converts an ISO time to `2027-01-31 09:30 UTC`. */
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
