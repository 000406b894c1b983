import { afterEach, beforeEach, expect, test } from 'vitest'
import { expectStatus } from '../../api/signed-in.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { startService, type TestService } from '../../support/test-service.ts'
import { until, waitMsMax } from '../../support/until.ts'
import { MailCatcher, openSignUp } from '../mail-catcher.ts'

// Floods of sign-up requests.

const hour = 3_600_000
let catcher: MailCatcher
let clock: FakeClock
let service: TestService

beforeEach(async () => {
  clock = new FakeClock(Date.parse('2027-03-01T10:00:00Z'))
  catcher = await MailCatcher.start()
})

afterEach(async () => {
  await service.stop()
  await catcher.stop()
})

async function open(signUpsPerDay = 1000): Promise<void> {
  const trustedProxies = ['127.0.0.1']
  const limits = { signUpsPerDay }
  service = await startService({ mail: catcher.settings, clock, trustedProxies, signUp: openSignUp, limits })
  await service.createPerson({ email: 'known@example.com' })
}

let clients = 0
const request = (email: string, client = `9.9.${clients >> 8}.${clients++ & 255}`) =>
  service.post('/api/sign-up', { email }, { headers: { 'X-Forwarded-For': client } })
const allSent = () =>
  until('all were sent', waitMsMax, async () => (await service.app.store.mails.readState()).pending === 0)

test('1,000 requests for one address send at most ten mails, whether it has an account', async () => {
  await open()
  const { store } = service.app
  for (const email of ['known@example.com', 'new@example.com']) {
    const outcomes: Record<string, number> = { admitted: 0, refused: 0 }
    for (let n = 0; n < 1000; n++) {
      if (n > 0 && n % 250 === 0) {
        // Wait, because a mail is sent again if its lease expires during sending.
        await allSent()
        clock.advance(hour / 4)
      }
      const mail = service.app.services.people.mails!.seal('https://a.example/invitation#x')
      const link = { client: `10.0.${n >> 8}.${n & 255}`, tokenHash: `${email} ${n}`, expiresAt: clock.now() + hour }
      const { outcome } = await store.mails.requestSignUp({ ...link, email, mail, perDayMax: 0 })
      outcomes[outcome]!++
    }
    expect(outcomes).toEqual({ admitted: 200, refused: 800 })
  }
  await allSent()
  expect([catcher.to('known@example.com').length, catcher.to('new@example.com').length]).toEqual([10, 10])
  clock.advance(24 * hour)
  await expectStatus(200, request('new@example.com'))
  await catcher.waitFor('new@example.com', 11)
})

test('one client and one day get a limited number of requests, whatever the addresses', async () => {
  await open(120)
  const ask = async (count: number, client: (n: number) => string) => {
    const statuses: number[] = []
    for (let from = 0; from < count; from += 15) {
      const some = Array.from({ length: Math.min(15, count - from) }, (_, n) => from + n)
      const asked = some.map((n) =>
        request(n % 10 === 0 ? 'known@example.com' : `p${n}-${client(n)}@e.example`, client(n)),
      )
      statuses.push(...(await Promise.all(asked)).map(({ status }) => status))
    }
    return [200, 429].map((status) => statuses.filter((one) => one === status).length)
  }
  expect(await ask(105, () => '9.8.7.6')).toEqual([100, 5])
  expect(await ask(30, (n) => `8.8.8.${n}`)).toEqual([20, 10])
  const refused = await request('known@example.com')
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, String(14 * 3600)])
  clock.advance(14 * hour)
  await expectStatus(200, request('tomorrow@example.com'))
})
