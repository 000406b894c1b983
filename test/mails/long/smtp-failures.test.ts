import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { setDefaultCACertificates, getCACertificates } from 'node:tls'
import { afterEach, expect, test } from 'vitest'
import type { MailSettings } from '../../../server/mails/mail-settings.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { startService, type TestService } from '../../support/test-service.ts'
import { until, waitMsMax } from '../../support/until.ts'
import { createCertificate, MailCatcher } from '../mail-catcher.ts'

// Mail servers that refuse, greylist, hang or are down.

const stops: (() => Promise<unknown>)[] = []

afterEach(async () => {
  for (const stop of stops.splice(0).toReversed()) await stop()
})

async function startCatcher(options: Parameters<typeof MailCatcher.start>[0] = {}): Promise<MailCatcher> {
  const catcher = await MailCatcher.start(options)
  stops.push(() => catcher.stop())
  return catcher
}

async function startMailing(mail: MailSettings) {
  const clock = new FakeClock(Date.now())
  const service = await startService({ mail, clock })
  stops.push(() => service.stop())
  const person = await service.createPerson()
  const { mails, payments } = service.app.store
  await payments.setNotifyBelow({ userId: person.userId, notifyBelow: 50_000 })
  const spend = { userId: person.userId, amount: -60_000, description: 'Spent', idempotencyKey: null }
  await service.app.store.credit(spend)
  const untilState = (what: string, wanted: object) =>
    until(what, waitMsMax, async () => {
      const { lastError, ...counts } = await mails.readState()
      const state = { ...counts, hasError: lastError !== null }
      return JSON.stringify(state) === JSON.stringify(wanted)
    })
  const lastError = async () => (await mails.readState()).lastError?.error
  return { clock, lastError, person, service, untilState }
}

async function expectTasks(service: TestService, key: string): Promise<void> {
  expect((await service.runTask(key, 'test.echo', { text: 'Hello' })).status).toBe('completed')
}

test('retries a greylisted mail, and gives up a refused one', async () => {
  const catcher = await startCatcher({ refuse: () => 451 })
  const { clock, lastError, person, untilState } = await startMailing(catcher.settings)
  await untilState('it was greylisted', { pending: 1, failed: 0, hasError: true })
  expect(await lastError()).toContain('451')
  clock.advance(50_000)
  await new Promise((resolve) => setTimeout(resolve, 1500))
  expect(catcher.asked).toHaveLength(1)
  catcher.refuse = () => 550
  clock.advance(20_000)
  await untilState('it was refused', { pending: 0, failed: 1, hasError: true })
  expect(await lastError()).toContain('550')
  clock.advance(30 * 60_000)
  await new Promise((resolve) => setTimeout(resolve, 1500))
  expect(catcher.asked).toEqual([person.email, person.email])
})

test('sends the mails of an hour of downtime when the server is back', async () => {
  const first = await startCatcher()
  const { port, settings } = first
  await first.stop()
  stops.pop()
  const { clock, lastError, person, service, untilState } = await startMailing(settings)
  await untilState('it failed', { pending: 1, failed: 0, hasError: true })
  expect(await lastError()).toContain('ECONNREFUSED')
  for (let minutes = 0; minutes < 60; minutes += 10) {
    clock.advance(10 * 60_000)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  await expectTasks(service, person.key)
  // Lets an attempt in flight fail, because its lease would expire when the clock moves on.
  await new Promise((resolve) => setTimeout(resolve, 1500))
  const catcher = await startCatcher({ port })
  clock.advance(3 * 3_600_000)
  await untilState('it is over', { pending: 0, failed: 0, hasError: false })
  expect(catcher.to(person.email)).toHaveLength(1)
})

test('gives up a mail after three days, and forgets it a day later', async () => {
  const catcher = await startCatcher({ refuse: () => 421 })
  const { clock, service, untilState } = await startMailing(catcher.settings)
  for (let hours = 0; hours < 73; hours++) {
    clock.advance(3_600_000)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  await untilState('it was given up', { pending: 0, failed: 1, hasError: true })
  expect(catcher.asked.length).toBeLessThan(13)
  clock.advance(24 * 3_600_000)
  while (await service.app.store.purgeExpired()) continue
  expect(await service.app.store.mails.readState()).toEqual({ pending: 0, failed: 0, lastError: null })
  expect(await service.app.store.verifyLedger()).toMatchObject({ ok: true })
})

test('a server that never answers delays nothing but mail', async () => {
  const silent = createServer((socket) => socket.on('error', () => {}))
  silent.listen(0, '127.0.0.1')
  await once(silent, 'listening')
  const { port } = silent.address() as AddressInfo
  stops.push(async () => silent.close())
  const from = { name: '', address: 'agents@acme.example' }
  const mailing = await startMailing({ host: '127.0.0.1', port, isSecure: false, from })
  const { lastError, person, service, untilState } = mailing
  for (let count = 0; count < 5; count++) await expectTasks(service, person.key)
  await untilState('it timed out', { pending: 1, failed: 0, hasError: true })
  expect(await lastError()).toMatch(/greeting/i)
})

test.each([
  ['from the first byte', true],
  ['by STARTTLS', false],
])('encrypts %s, and only for a server whose certificate is trusted', async (_, isSecure) => {
  const certificate = createCertificate()
  const auth = { user: 'agents@acme.example', pass: 'p@ss/word' }
  const seen: string[] = []
  const catcher = await startCatcher({
    ...certificate,
    secure: isSecure,
    authOptional: false,
    onAuth: ({ password, username }, { secure }, done) => {
      seen.push(`${username} ${password} ${secure}`)
      done(null, { user: username })
    },
  })
  const { clock, lastError, person, untilState } = await startMailing({ ...catcher.settings, auth })
  await untilState('it was not trusted', { pending: 1, failed: 0, hasError: true })
  expect(await lastError()).toMatch(/self-signed certificate/)
  expect(seen).toEqual([])
  const trusted = getCACertificates()
  setDefaultCACertificates([...trusted, certificate.cert])
  stops.push(async () => setDefaultCACertificates(trusted))
  clock.advance(70_000)
  await catcher.waitFor(person.email)
  expect(seen).toEqual(['agents@acme.example p@ss/word true'])
  await untilState('it was sent', { pending: 0, failed: 0, hasError: false })
})

test('keeps a mail while the server rejects the password', async () => {
  const catcher = await startCatcher({
    allowInsecureAuth: true,
    authOptional: false,
    onAuth: (_auth, _session, done) => done(new Error('Invalid username or password')),
  })
  const auth = { user: 'agents', pass: 'wrong' }
  const { lastError, untilState } = await startMailing({ ...catcher.settings, auth })
  await untilState('it was not let in', { pending: 1, failed: 0, hasError: true })
  expect(await lastError()).toContain('535')
  expect(await lastError()).not.toContain('wrong')
})
