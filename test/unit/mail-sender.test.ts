import { expect, test } from 'vitest'
import { MailSender } from '../../server/mails/mail-sender.ts'
import { MailRefusedError } from '../../server/mails/outgoing-mail.ts'
import type { LeasedMail, MailOutcome } from '../../server/store/mails/mail-types.ts'

const minuteMs = 60_000

/** Returns the outcome of this attempt to send a mail, if the server answers with this error. */
async function outcomeOf(attempt: number, error: Error): Promise<MailOutcome> {
  const mail = { id: 'mail_1', kind: 'balance.low', email: 'ada@example.com', data: {}, sealed: null, attempt }
  const mails = [{ ...mail, createdAt: 0, expiresAt: 0 } as LeasedMail]
  const ended = Promise.withResolvers<MailOutcome>()
  const sender = new MailSender({
    baseUrl: () => 'https://agents.example.com',
    clock: { now: () => 0 },
    log: { warn: () => {} },
    settings: { from: { name: 'Acme Agents', address: 'agents@acme.example' } },
    port: { send: () => Promise.reject(error) },
    store: {
      lease: async () => mails.splice(0),
      end: async ({ outcome }: { outcome: MailOutcome }) => ended.resolve(outcome),
    },
  } as never)
  sender.start()
  const outcome = await ended.promise
  await sender.stop()
  return outcome
}

test('retries a mail eleven times, after longer and longer pauses', async () => {
  const pauses: (number | null)[] = []
  for (let attempt = 1; attempt <= 12; attempt++) {
    const outcome = await outcomeOf(attempt, new Error('Busy'))
    pauses.push(outcome.kind === 'sent' ? 0 : outcome.againInMs)
  }
  expect(pauses.pop()).toBeNull()
  expect(pauses).not.toContain(null)
  for (const [place, minutes] of [1, 5, 15, 30, 60, 120, 240, 480, 720, 720, 720].entries()) {
    expect(pauses[place]! / minutes / minuteMs).toBeGreaterThanOrEqual(0.9)
    expect(pauses[place]! / minutes / minuteMs).toBeLessThanOrEqual(1.1)
  }
})

test('does not retry a refused mail', async () => {
  const outcome = await outcomeOf(1, new MailRefusedError('No such person'))
  expect(outcome).toEqual({ kind: 'failed', error: 'No such person', againInMs: null })
})
