import { createTransport } from 'nodemailer'
import { MailRefusedError, type MailPort } from './outgoing-mail.ts'
import { MailAddress, requiresTls, type MailSettings } from './mail-settings.ts'

const connectMs = 10_000
const silentMs = 20_000

/**
 * A 5xx reply to one of these commands permanently rejects the email. A 5xx reply to any other command indicates
 * a misconfiguration, so the email is retried.
 */
const aboutMail = new Set(['RCPT TO', 'DATA'])

type SmtpError = Error & { command?: string; responseCode?: number }

export function openSmtp(settings: MailSettings): MailPort {
  const { auth, from, host, isSecure, port } = settings
  const transport = createTransport({
    host: host.replace(/^\[|\]$/g, ''),
    port,
    secure: isSecure,
    requireTLS: requiresTls(settings),
    ...(auth && { auth }),
    connectionTimeout: connectMs,
    greetingTimeout: connectMs,
    dnsTimeout: connectMs,
    socketTimeout: silentMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  const domain = from.address.slice(from.address.lastIndexOf('@') + 1)
  return {
    send: async ({ id, to, ...content }, signal) => {
      if (!MailAddress.safeParse(to).success)
        throw new MailRefusedError('The email address is invalid. Correct it and send the email again.')
      const messageId = `<${id}@${domain}>`
      const headers = { 'Auto-Submitted': 'auto-generated' }
      try {
        await transport.sendMail({ ...content, from, to: { name: '', address: to }, messageId, headers, signal })
      } catch (error) {
        const { command = '', message, responseCode = 0 } = error as SmtpError
        if (responseCode >= 500 && aboutMail.has(command)) throw new MailRefusedError(message, { cause: error })
        throw error
      }
    },
  }
}
