import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'
import { closedSignUp, type SignUpSettings } from '../../server/auth/invitations/sign-up-settings.ts'
import type { MailSettings } from '../../server/mails/mail-settings.ts'
import { openResources, temporaryFolder } from '../support/resources.ts'
import { until, waitMsMax } from '../support/until.ts'

export type Caught = { to: string; headers: string; subject: string; text: string; html: string }

type CatcherOptions = SMTPServerOptions & {
  port?: number
  /** Called for each recipient. A returned number is the status of the refusal. */
  refuse?: (address: string) => number | undefined
}

/** A real mail server that stores what it accepts. */
export class MailCatcher {
  readonly caught: Caught[] = []
  /** Recipients that clients named, including refused ones. */
  readonly asked: string[] = []
  refuse: (address: string) => number | undefined
  readonly #server: SMTPServer
  readonly #isSecure: boolean

  private constructor({ refuse = () => undefined, ...options }: CatcherOptions) {
    this.refuse = refuse
    this.#isSecure = options.secure ?? false
    const hides = options.key ? {} : { hideSTARTTLS: true }
    this.#server = new SMTPServer({
      authOptional: true,
      logger: false,
      ...hides,
      ...options,
      onRcptTo: ({ address }, _session, done) => {
        this.asked.push(address)
        const responseCode = this.refuse(address)
        done(responseCode === undefined ? null : Object.assign(new Error('Refused by the test'), { responseCode }))
      },
      onData: (stream, session, done) => {
        const take = (raw: string) => {
          this.caught.push(parse(raw, session.envelope.rcptTo[0]!.address))
          done()
        }
        text(stream).then(take, done)
      },
    })
    this.#server.on('error', () => {})
  }

  static async start(options: CatcherOptions = {}): Promise<MailCatcher> {
    const catcher = new MailCatcher(options)
    await new Promise<void>((resolve) => catcher.#server.listen(options.port ?? 0, '127.0.0.1', resolve))
    openResources.add(`mail catcher on ${catcher.port}`)
    return catcher
  }

  get port(): number {
    return (this.#server.server.address() as AddressInfo).port
  }

  get settings(): MailSettings {
    const from = { name: 'Acme Agents', address: 'agents@acme.example' }
    return { host: '127.0.0.1', port: this.port, isSecure: this.#isSecure, from }
  }

  /** Variables for a service in another process. */
  get env(): Record<string, string> {
    return { ERRAND_SMTP_URL: `smtp://127.0.0.1:${this.port}`, ERRAND_MAIL_FROM: 'Acme Agents <agents@acme.example>' }
  }

  to(address: string): Caught[] {
    return this.caught.filter(({ to }) => to === address)
  }

  async waitFor(address: string, count = 1): Promise<Caught[]> {
    await until(`${count} mails to ${address}`, waitMsMax, () => this.to(address).length >= count)
    return this.to(address)
  }

  async stop(): Promise<void> {
    const name = `mail catcher on ${this.port}`
    await new Promise<void>((resolve) => this.#server.close(() => resolve()))
    openResources.delete(name)
  }
}

/** Returns the secret part of the link in a mail. */
export function tokenIn({ text: content }: Caught): string {
  return /\/invitation#([\w-]{43})\s/.exec(content)![1]!
}

function parse(raw: string, to: string): Caught {
  const end = raw.indexOf('\r\n\r\n')
  const headers = raw.slice(0, end)
  const boundary = /boundary="([^"]+)"/.exec(headers)![1]!
  const parts = raw.slice(end).split(`--${boundary}`)
  const bodyOf = (type: string) => {
    const part = parts.find((one) => one.includes(`Content-Type: ${type}`))!
    const body = part.slice(part.indexOf('\r\n\r\n') + 4).replaceAll('\r\n', '\n')
    return part.includes('quoted-printable') ? unquote(body) : body
  }
  const subject = /^Subject: (.*)$/m.exec(headers)![1]!.trim()
  return { to, headers, subject, text: bodyOf('text/plain'), html: bodyOf('text/html') }
}

function unquote(body: string): string {
  const bytes = body
    .replaceAll('=\n', '')
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)))
  return Buffer.from(bytes, 'latin1').toString()
}

/** Creates a certificate for 127.0.0.1 that is its own authority. */
export function createCertificate(): { key: string; cert: string } {
  const folder = temporaryFolder('mail')
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const subject = ['-subj', '/CN=mail', '-addext', 'subjectAltName=IP:127.0.0.1']
  const made = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '1', '-keyout', key, '-out', cert]
  execFileSync('openssl', [...made, ...subject], { stdio: 'ignore' })
  return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') }
}

/** Settings of a mail server that refuses connections, so that mails stay queued. */
export const unreachableMail: MailSettings = {
  host: '127.0.0.1',
  port: 9,
  isSecure: false,
  from: { name: 'Acme Agents', address: 'agents@acme.example' },
}

export const openSignUp: SignUpSettings = { ...closedSignUp, isOpen: true }
