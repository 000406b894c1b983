import type { Clock } from '../kernel/clock.ts'
import { clip } from '../kernel/clip.ts'
import { newId } from '../kernel/ids.ts'
import type { Logger } from '../kernel/logger.ts'
import { SealedSecretsError, type SecretVault } from '../kernel/secret-vault.ts'
import type { MailStore } from '../store/mails/mail-port.ts'
import type { LeasedMail, LinkMail, MailOutcome } from '../store/mails/mail-types.ts'
import { MailRefusedError, type MailPort } from './outgoing-mail.ts'
import { requiresTls, type MailSettings } from './mail-settings.ts'
import { renderMail, type MailLook } from './mail-texts.ts'
import { testMail } from './test-mail-text.ts'

const inFlightMax = 4
const attemptMs = 30_000
/** How long a sender leases an email: long enough to attempt delivery and store the outcome. */
const leaseMs = 45_000
/** Poll interval for emails that other nodes, commands or events have queued. */
const pollMs = 1000
const pauseAfterFailureMs = 5000
const drainMs = 3000
const errorCharsMax = 300

/**
 * Delays before the retries. The first ones are short, because greylisting servers accept a retry after a few minutes.
 */
const pausesMs = [1, 5, 15, 30, 60, 120, 240, 480, 720, 720, 720].map((minutes) => minutes * 60_000)

type SenderParts = {
  baseUrl: () => string
  clock: Clock
  log: Logger
  port: MailPort
  settings: MailSettings
  /** Name of the service. */
  name: string
  support: string | undefined
  store: MailStore
  vault: SecretVault
}

/** Sends due emails, each at least once. Every node that serves requests runs one sender. */
export class MailSender {
  readonly #parts: SenderParts
  readonly #inFlight = new Set<Promise<void>>()
  readonly #stopping = new AbortController()
  #isStopped = false
  #running: Promise<void> | undefined
  #wake: (() => void) | undefined

  constructor(parts: SenderParts) {
    this.#parts = parts
  }

  start(): void {
    this.#running = this.#run()
  }

  /** Resolves when no email is in flight. After `drainMs`, aborts the remaining attempts, which are retried later. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.wake()
    await this.#running
    const timer = setTimeout(() => this.#stopping.abort(new Error('The service is stopping.')), drainMs)
    await Promise.all(this.#inFlight)
    clearTimeout(timer)
  }

  get look(): MailLook {
    const {
      baseUrl,
      name,
      settings: { logoUrl },
      support,
    } = this.#parts
    return { name, baseUrl: baseUrl(), logoUrl, support }
  }

  get server() {
    const { from, host, isSecure, port } = this.#parts.settings
    const starttls = requiresTls(this.#parts.settings) ? ('starttls' as const) : ('optional' as const)
    const sender = from.name === '' ? from.address : `${from.name} <${from.address}>`
    return { host, port, tls: isSecure ? ('implicit' as const) : starttls, from: sender }
  }

  /** Sends a test email immediately, without queuing it. Returns an error if the server rejects it. */
  async sendTest(to: string): Promise<string | null> {
    const signal = AbortSignal.any([this.#stopping.signal, AbortSignal.timeout(attemptMs)])
    try {
      await this.#parts.port.send(testMail(this.look.name, to), signal)
      return null
    } catch (error) {
      return textOf(error)
    }
  }

  /** Encrypts a link, so that it can be stored until the email is sent. */
  seal(url: string): LinkMail {
    const mailId = newId('mail', this.#parts.clock.now())
    return { mailId, sealed: this.#parts.vault.seal({ url }, { mailId }) }
  }

  /** Call this after queuing an email. */
  wake(): void {
    this.#wake?.()
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      try {
        const limit = inFlightMax - this.#inFlight.size
        const mails = limit > 0 ? await this.#parts.store.lease({ limit, leaseMs }) : []
        for (const mail of mails) this.#start(mail)
        if (mails.length === 0) await this.#woken(pollMs)
      } catch (error) {
        if (!this.#isStopped) this.#parts.log.warn({ err: error }, 'could not read emails; retrying')
        await this.#woken(pauseAfterFailureMs)
      }
    }
  }

  #start(mail: LeasedMail): void {
    const sending = this.#send(mail).finally(() => {
      this.#inFlight.delete(sending)
      this.wake()
    })
    this.#inFlight.add(sending)
  }

  async #send(mail: LeasedMail): Promise<void> {
    const { log, store } = this.#parts
    const { attempt, id, kind } = mail
    try {
      const outcome = await this.#attempt(mail)
      if (outcome.kind === 'failed') {
        const isLast = outcome.againInMs === null
        log.warn({ mailId: id, kind, attempt, isLast, error: outcome.error }, 'could not send an email')
      }
      await store.end({ id, attempt, outcome })
    } catch (error) {
      log.warn({ err: error, mailId: id }, 'could not store the outcome of an email; it will be sent again')
    }
  }

  async #attempt(mail: LeasedMail): Promise<MailOutcome> {
    const { port, vault } = this.#parts
    const { attempt, email, id, sealed } = mail
    const pause = pausesMs[attempt - 1]
    // Randomize the delay, so that emails that failed together are not retried together.
    const againInMs = pause === undefined ? null : Math.round(pause * (0.9 + Math.random() * 0.2))
    try {
      const url = sealed === null ? '' : (vault.open(sealed, { mailId: id })['url'] ?? '')
      const content = renderMail({ ...mail, ...this.look, url })
      const signal = AbortSignal.any([this.#stopping.signal, AbortSignal.timeout(attemptMs)])
      await port.send({ id, to: email, ...content }, signal)
      return { kind: 'sent' }
    } catch (error) {
      const text = textOf(error)
      const isFinal = error instanceof MailRefusedError || error instanceof SealedSecretsError
      return { kind: 'failed', error: text, againInMs: isFinal ? null : againInMs }
    }
  }

  #woken(ms: number): Promise<void> {
    if (this.#isStopped) return Promise.resolve()
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer)
        this.#wake = undefined
        resolve()
      }
      const timer = setTimeout(done, ms)
      this.#wake = done
    })
  }
}

function textOf(error: unknown): string {
  return clip(error instanceof Error ? error.message : String(error), errorCharsMax)
}
