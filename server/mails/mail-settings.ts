import { z } from 'zod'
import { ConfigError } from '../kernel/settings.ts'

export type MailSettings = {
  host: string
  port: number
  /** True for TLS from the start of the connection, false for STARTTLS. */
  isSecure: boolean
  auth?: { user: string; pass: string }
  from: Sender
  logoUrl?: string
}
type Sender = { name: string; address: string }

/** Email address in a form that every mail server accepts: ASCII, one line, without comments. */
export const MailAddress = z.email().max(254)

const loopback = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/

/** Whether to require STARTTLS. Passwords are never sent unencrypted, except to a server on the same machine. */
export function requiresTls({ auth, host, isSecure }: MailSettings): boolean {
  return !isSecure && auth !== undefined && !loopback.test(host)
}

type MailVariables = Record<'logoUrl' | 'sender' | 'url', string>

/**
 * Returns undefined if the service does not send email. Unset variables are empty strings. Errors do not quote the URL,
 * because it contains a password.
 */
export function checkMail({ logoUrl, sender, url }: MailVariables): MailSettings | undefined {
  if (url === '' && sender === '' && logoUrl === '') return undefined
  if (url === '') {
    const other = sender === '' ? 'ERRAND_MAIL_LOGO_URL' : 'ERRAND_MAIL_FROM'
    throw new ConfigError(`ERRAND_SMTP_URL: must be set if ${other} is set`)
  }
  const server = parseSmtpUrl(url)
  if (!server) {
    throw new ConfigError(
      'ERRAND_SMTP_URL: must be a URL such as smtps://user:password@host:465. In a password, write @ as %40 and / as %2F',
    )
  }
  const from = parseSender(sender)
  if (!from) throw new ConfigError('ERRAND_MAIL_FROM: must be an email address, or Name <address>')
  if (logoUrl === '') return { ...server, from }
  if (URL.parse(logoUrl)?.protocol !== 'https:') throw new ConfigError('ERRAND_MAIL_LOGO_URL: must be an https URL')
  return { ...server, from, logoUrl }
}

function parseSmtpUrl(text: string): Omit<MailSettings, 'from' | 'logoUrl'> | undefined {
  const url = URL.parse(text)
  const isSecure = url?.protocol === 'smtps:'
  if (!url || (!isSecure && url.protocol !== 'smtp:') || url.hostname === '') return undefined
  if (!['', '/'].includes(url.pathname) || url.search !== '' || url.hash !== '') return undefined
  if ((url.username === '') !== (url.password === '')) return undefined
  const port = url.port === '' ? (isSecure ? 465 : 587) : Number(url.port)
  try {
    const auth = { user: decodeURIComponent(url.username), pass: decodeURIComponent(url.password) }
    return { host: url.hostname, port, isSecure, ...(auth.user !== '' && { auth }) }
  } catch {
    return undefined
  }
}

function parseSender(text: string): Sender | undefined {
  const [, name = '', inner, bare] = /^(?:"?([^"<>\p{Cc}]{0,100}?)"?\s*<([^<>]+)>|([^<>]+))$/u.exec(text.trim()) ?? []
  const address = MailAddress.safeParse(inner ?? bare)
  return address.success ? { name: name.trim(), address: address.data } : undefined
}
