import { expect, test } from 'vitest'
import { queryRows } from '../support/test-engine.ts'
import { TestBrowser } from './oidc-browser.ts'
import { comeBack, expectRefusal, signOn, signOnAs, startSignOn, whoIs, type SignOn } from './sign-on.ts'

const verified = (email: string) => ({ email, email_verified: true })

function identitiesOf({ service }: SignOn): Promise<Record<string, unknown>[]> {
  return queryRows(service.dataDir, 'SELECT issuer, subject, user_id AS "userId" FROM identities')
}

async function countUsers({ service }: SignOn): Promise<number> {
  return (await service.app.store.listUsers({ limit: 1, offset: 0 })).total
}

test('the first login links the account by verified email; later logins use issuer and subject', async () => {
  const on = await startSignOn()
  const { provider, service } = on
  const ada = await service.createPerson({ email: 'ada@example.com' })
  const ben = await service.createPerson({ email: 'ben@example.com' })
  provider.people.set('subject-ada', verified('Ada@Example.com'))
  expect(await signOnAs(on, 'subject-ada')).toMatchObject({ userId: ada.userId })
  const identity = { issuer: provider.issuer, subject: 'subject-ada', userId: ada.userId }
  expect(await identitiesOf(on)).toEqual([identity])
  const later = [
    verified('ada@elsewhere.example'),
    verified(ben.email),
    { email: ben.email, email_verified: false },
    { email_verified: true },
    {},
  ]
  for (const claims of later) {
    provider.people.set('subject-ada', claims)
    expect(await signOnAs(on, 'subject-ada')).toMatchObject({ userId: ada.userId, email: 'ada@example.com' })
  }
  expect(await identitiesOf(on)).toEqual([identity])
  const { acts } = await service.app.store.audit.list({ userId: ada.userId, limit: 3 })
  expect(acts.map(({ action }) => action)).toContain('login.created')
  for (const act of acts) expect(act).toMatchObject({ actor: 'visitor', actorId: null, client: '127.0.0.1' })
  await on.stop()
})

test('an unverified or missing email links no account and creates none', async () => {
  const on = await startSignOn({ login: { createAccounts: true } })
  const { provider, service } = on
  await service.createPerson({ email: 'kim@example.com' })
  const claims = [
    { email: 'kim@example.com', email_verified: false },
    { email: 'kim@example.com' },
    { email: 'kim@example.com', email_verified: 'true' },
    { email: 'kim@example.com', email_verified: 1 },
    { email_verified: true },
    {},
  ]
  for (const [index, claim] of claims.entries()) {
    provider.people.set(`subject-${index}`, claim)
    await expectRefusal(on, `subject-${index}`, 'email-unverified')
  }
  expect(await identitiesOf(on)).toEqual([])
  expect(await countUsers(on)).toBe(1)
  await on.stop()
})

test('a malformed email, or one whose lowercase form differs, links no account and creates none', async () => {
  const on = await startSignOn({ login: { createAccounts: true } })
  const { provider, service } = on
  await service.createPerson({ email: 'kim@example.com' })
  // The first address starts with the Kelvin sign, whose lower case is a plain k.
  const addresses = [
    '\u212Aim@example.com',
    ' kim@example.com',
    'kim@example.com\n',
    'kim',
    '',
    `${'k'.repeat(300)}@a.example`,
  ]
  for (const [index, address] of addresses.entries()) {
    provider.people.set(`subject-${index}`, verified(address))
    await expectRefusal(on, `subject-${index}`, 'email-unverified')
  }
  expect(await identitiesOf(on)).toEqual([])
  expect(await countUsers(on)).toBe(1)
  await on.stop()
})

test('rejects a person without an account if sign-up is closed, the default', async () => {
  const on = await startSignOn()
  on.provider.people.set('subject-eve', verified('eve@example.com'))
  await expectRefusal(on, 'subject-eve', 'sign-up-closed')
  expect(await countUsers(on)).toBe(0)
  expect(await identitiesOf(on)).toEqual([])
  await on.stop()
})

test('a new person gets the plan and the trial credit of newcomers, once per person', async () => {
  const signUp = { isOpen: false, domains: null, newcomer: { plan: null, credit: 25_000 } }
  const on = await startSignOn({ login: { createAccounts: true }, service: { signUp } })
  on.provider.people.set('subject-eve', verified('Eve@Example.com'))
  for (let time = 0; time < 2; time++)
    expect(await signOnAs(on, 'subject-eve')).toMatchObject({ email: 'eve@example.com', balanceUsd: '2.5000' })
  on.other.people.set('subject-other', verified('eve+other@example.com'))
  expect(await signOnAs(on, 'subject-other', 'other')).toMatchObject({ balanceUsd: '0.0000' })
  const { acts } = await on.service.app.store.audit.list({ action: 'user.created', limit: 10 })
  expect(acts.map(({ change }) => JSON.parse(change).creditUsd)).toEqual(['0.0000', '2.5000'])
  expect(await on.service.app.store.verifyLedger()).toMatchObject({ ok: true })
  await on.stop()
})

test('with createAccounts, a new person gets an empty account and keeps it', async () => {
  const on = await startSignOn({ login: { createAccounts: true } })
  on.provider.people.set('subject-eve', verified('Eve@Example.com'))
  const made = await signOnAs(on, 'subject-eve')
  expect(made).toMatchObject({
    email: 'eve@example.com',
    balanceUsd: '0.0000',
    heldUsd: '0.0000',
    isAdmin: false,
    hasPassword: false,
  })
  on.provider.people.set('subject-eve', verified('eve@elsewhere.example'))
  expect(await signOnAs(on, 'subject-eve')).toMatchObject({ userId: made.userId, email: 'eve@example.com' })
  expect(await countUsers(on)).toBe(1)
  await on.stop()
})

test('simultaneous first logins create one account and one identity', async () => {
  const on = await startSignOn({ login: { createAccounts: true } })
  on.provider.people.set('subject-eve', verified('eve@example.com'))
  const browsers = [1, 2, 3, 4].map(() => new TestBrowser({ person: 'subject-eve' }))
  const answers = await Promise.all(browsers.map(async (browser) => await comeBack(on, browser)))
  await Promise.all(browsers.map(async (browser, index) => await browser.step(answers[index]!)))
  const people = await Promise.all(browsers.map(async (browser) => await whoIs(on, browser)))
  expect(new Set(people.map((person) => person.userId)).size).toBe(1)
  expect(await countUsers(on)).toBe(1)
  expect(await identitiesOf(on)).toHaveLength(1)
  await on.stop()
})

test('treats the same subject at different issuers as different identities', async () => {
  const on = await startSignOn({ login: { createAccounts: true } })
  on.provider.people.set('subject-1', verified('ada@example.com'))
  on.other.people.set('subject-1', verified('eve@example.com'))
  const ada = await signOnAs(on, 'subject-1')
  const eve = await signOnAs(on, 'subject-1', 'other')
  expect(eve.userId).not.toBe(ada.userId)
  expect(eve.email).toBe('eve@example.com')
  // One person may have an identity at each provider.
  on.other.people.set('subject-2', verified('ada@example.com'))
  expect(await signOnAs(on, 'subject-2', 'other')).toMatchObject({ userId: ada.userId })
  expect(await identitiesOf(on)).toHaveLength(3)
  await on.stop()
})

test('a new subject with the email of a linked account does not get that account', async () => {
  const on = await startSignOn({ login: { createAccounts: true } })
  const { provider } = on
  provider.people.set('subject-before', verified('ada@example.com'))
  const ada = await signOnAs(on, 'subject-before')
  provider.people.set('subject-after', verified('ada@example.com'))
  await expectRefusal(on, 'subject-after', 'email-taken')
  expect(await signOnAs(on, 'subject-before')).toMatchObject({ userId: ada.userId })
  expect(await identitiesOf(on)).toHaveLength(1)
  await on.stop()
})

test('checks the email against the allowed domains at every login', async () => {
  const on = await startSignOn({ login: { createAccounts: true, emailDomains: ['Example.com', 'example.org'] } })
  const { provider } = on
  const outside = ['eve@evil-example.com', 'eve@sub.example.com', 'eve@example.com.evil.example', 'eve@example.co']
  for (const [index, address] of outside.entries()) {
    provider.people.set(`subject-${index}`, verified(address))
    await expectRefusal(on, `subject-${index}`, 'domain-refused')
  }
  provider.people.set('subject-claims', { email: 'eve@example.com', email_verified: false })
  await expectRefusal(on, 'subject-claims', 'email-unverified')
  expect(await countUsers(on)).toBe(0)
  for (const [index, address] of ['ada@EXAMPLE.com', 'ben@example.org'].entries()) {
    provider.people.set(`inside-${index}`, verified(address))
    expect(await signOnAs(on, `inside-${index}`)).toMatchObject({ email: address.toLowerCase() })
  }
  provider.people.set('inside-0', verified('ada@elsewhere.example'))
  await expectRefusal(on, 'inside-0', 'domain-refused')
  await on.stop()
})

test('rejects a suspended user at first and later logins, and links no identity', async () => {
  const on = await startSignOn()
  const { provider, service } = on
  const { store } = service.app
  const { userId } = await service.createPerson({ email: 'ada@example.com' })
  provider.people.set('subject-ada', verified('ada@example.com'))
  await store.updateUser({ userId, isSuspended: true })
  await expectRefusal(on, 'subject-ada', 'suspended')
  expect(await identitiesOf(on)).toEqual([])
  await store.updateUser({ userId, isSuspended: false })
  const { browser } = await signOn(on, 'subject-ada')
  expect(await whoIs(on, browser)).toMatchObject({ userId })
  await store.updateUser({ userId, isSuspended: true })
  expect(await whoIs(on, browser)).toBeUndefined()
  await expectRefusal(on, 'subject-ada', 'suspended')
  const identity = { issuer: provider.issuer, subject: 'subject-ada', email: null, mayCreate: true }
  expect(await store.openIdentity(identity)).toEqual({ outcome: 'refused', reason: 'suspended' })
  expect((await store.listLogins({ userId, limit: 10, offset: 0 })).total).toBe(0)
  await on.stop()
})
