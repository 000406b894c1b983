import { expect, test } from 'vitest'
import { SecretVault } from '../../../server/kernel/secret-vault.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { TestBrowser } from '../oidc-browser.ts'
import { comeBack, expectRefused, startSignOn, whoIs, type SignOn } from '../sign-on.ts'

const flowCookie = 'errand-oidc'
const serviceSecret = 'a secret of the tests only'

async function startWithAda(options: Parameters<typeof startSignOn>[0] = {}): Promise<SignOn> {
  const on = await startSignOn(options)
  for (const provider of [on.provider, on.other]) {
    provider.people.set('subject-ada', { email: 'ada@example.com', email_verified: true })
    provider.people.set('subject-eve', { email: 'eve@example.com', email_verified: true })
  }
  await on.service.createPerson({ email: 'ada@example.com' })
  await on.service.createPerson({ email: 'eve@example.com' })
  return on
}

/** Expects that no login was created, and that the provider received no token request. */
async function expectNotAsked(on: SignOn, browser: TestBrowser): Promise<void> {
  expect(await whoIs(on, browser)).toBeUndefined()
  expect([...on.provider.asked, ...on.other.asked]).not.toContain('/token')
}

test('rejects callbacks with altered parameters before using the code', async () => {
  const on = await startWithAda()
  const changes: ((answer: URLSearchParams) => void)[] = [
    (answer) => answer.set('state', 'A'.repeat(43)),
    (answer) => answer.set('state', ''),
    (answer) => answer.delete('state'),
    (answer) => answer.append('state', answer.get('state')!),
    (answer) => answer.append('code', 'another'),
    (answer) => answer.delete('code'),
    (answer) => answer.set('iss', on.other.issuer),
    (answer) => answer.delete('iss'),
    (answer) => answer.set('response', 'eyJhbGciOiJub25lIn0.e30.'),
    (answer) => answer.set('id_token', 'eyJhbGciOiJub25lIn0.e30.'),
  ]
  for (const change of changes) {
    const browser = new TestBrowser({ person: 'subject-ada' })
    const answer = await comeBack(on, browser)
    change(answer.searchParams)
    expectRefused(await browser.step(answer), 'oidc-failed')
    await expectNotAsked(on, browser)
  }
  await on.stop()
})

test("does not report a forged provider error as the provider's own", async () => {
  const on = await startWithAda()
  const browser = new TestBrowser({ person: 'subject-ada' })
  const { origin, pathname } = await comeBack(on, browser)
  expectRefused(await browser.step(`${origin}${pathname}?error=access_denied&state=forged`), 'oidc-failed')
  await on.stop()
})

test('a callback opened in another browser does not log in there', async () => {
  const on = await startWithAda()
  const eve = new TestBrowser({ person: 'subject-eve' })
  const answer = await comeBack(on, eve)
  const victim = new TestBrowser({ person: 'subject-ada' })
  expectRefused(await victim.step(answer), 'expired')
  await expectNotAsked(on, victim)
  // The attack must fail even during the victim's own login.
  await comeBack(on, victim)
  expectRefused(await victim.step(answer), 'oidc-failed')
  await expectNotAsked(on, victim)
  await on.stop()
})

test('rejects a stolen code in another flow because the PKCE verifier differs', async () => {
  const on = await startWithAda()
  const stolen = (await comeBack(on, new TestBrowser({ person: 'subject-ada' }))).searchParams.get('code')!
  const eve = new TestBrowser({ person: 'subject-eve' })
  const answer = await comeBack(on, eve)
  answer.searchParams.set('code', stolen)
  expectRefused(await eve.step(answer), 'oidc-failed')
  expect(await whoIs(on, eve)).toBeUndefined()
  expect(on.provider.tokenBodies).toHaveLength(1)
  await on.stop()
})

test('a callback works only once, even with a copied cookie', async () => {
  const on = await startWithAda()
  const browser = new TestBrowser({ person: 'subject-ada' })
  const answer = await comeBack(on, browser)
  const kept = structuredClone(browser.cookies)
  await browser.step(answer)
  expect(await whoIs(on, browser)).toMatchObject({ email: 'ada@example.com' })
  expectRefused(await browser.step(answer), 'expired')
  const thief = new TestBrowser()
  thief.cookies = kept
  expectRefused(await thief.step(answer), 'oidc-failed')
  expect(await whoIs(on, thief)).toBeUndefined()
  await on.stop()
})

test('a second login in the same browser replaces the pending first login', async () => {
  const on = await startWithAda()
  const browser = new TestBrowser({ person: 'subject-ada' })
  const earlier = await comeBack(on, browser)
  const later = await comeBack(on, browser)
  expectRefused(await browser.step(earlier), 'oidc-failed')
  expectRefused(await browser.step(later), 'expired')
  await expectNotAsked(on, browser)
  await on.stop()
})

test('rejects a flow cookie that is missing, altered, duplicated or from another service', async () => {
  const on = await startWithAda()
  const sealed = (secret: string, owner: { userId: string; connectorId: string }) =>
    new SecretVault(() => ({ current: secret, previous: [] })).seal({ state: 'x', until: '9999999999999' }, owner)
  const changes: ((value: string) => string)[] = [
    () => '',
    () => 'v1',
    () => 'v1..',
    () => 'v1.unknown.AAAA',
    (value) => value.slice(0, -8),
    (value) => value.replace(/.$/, (end) => (end === 'A' ? 'B' : 'A')).replace(/..$/, 'zz'),
    (value) =>
      value.replace(/^(v1\.[^.]+\.)(.)/, (_all, start: string, first: string) => start + (first === 'A' ? 'B' : 'A')),
    (value) => value.replace('v1.', 'v2.'),
    (value) => `${value}; ${flowCookie}=${value}`,
    () => Buffer.from(JSON.stringify({ state: 'x', until: '9999999999999' })).toString('base64url'),
    () => sealed('a secret of another service', { userId: 'single sign-on', connectorId: 'corp' }),
    () => sealed(serviceSecret, { userId: 'user_1', connectorId: 'corp' }),
  ]
  for (const change of changes) {
    const browser = new TestBrowser({ person: 'subject-ada' })
    const answer = await comeBack(on, browser)
    browser.alter(flowCookie, change)
    expectRefused(await browser.step(answer), 'expired')
    await expectNotAsked(on, browser)
  }
  const browser = new TestBrowser({ person: 'subject-ada' })
  const answer = await comeBack(on, browser)
  browser.cookies = []
  expectRefused(await browser.step(answer), 'expired')
  await expectNotAsked(on, browser)
  await on.stop()
})

test('a flow expires after ten minutes, even if the browser keeps its cookie', async () => {
  const clock = new FakeClock()
  const on = await startWithAda({ service: { clock } })
  const late = new TestBrowser({ person: 'subject-ada' })
  const answer = await comeBack(on, late)
  clock.advance(600_000)
  expectRefused(await late.step(answer), 'expired')
  await expectNotAsked(on, late)
  const inTime = new TestBrowser({ person: 'subject-ada' })
  const another = await comeBack(on, inTime)
  clock.advance(599_999)
  await inTime.step(another)
  expect(await whoIs(on, inTime)).toMatchObject({ email: 'ada@example.com' })
  await on.stop()
})

test('a flow started with one provider cannot be finished with another', async () => {
  const on = await startWithAda()
  const browser = new TestBrowser({ person: 'subject-ada' })
  const answer = await comeBack(on, browser)
  const { next } = await new TestBrowser().step(`${on.service.url}/login/oidc/other`)
  for (const iss of [on.provider.issuer, on.other.issuer]) {
    const moved = new URL(next!.searchParams.get('redirect_uri')!)
    moved.search = answer.search
    moved.searchParams.set('iss', iss)
    const mixedUp = new TestBrowser()
    mixedUp.cookies = structuredClone(browser.cookies)
    expectRefused(await mixedUp.step(moved), 'expired')
    await expectNotAsked(on, mixedUp)
  }
  await browser.step(answer)
  expect(await whoIs(on, browser)).toMatchObject({ email: 'ada@example.com' })
  await on.stop()
})
