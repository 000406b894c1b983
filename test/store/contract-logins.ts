import { expect } from 'vitest'
import { must } from '../../server/kernel/assert.ts'
import { loginIdleMs, loginLifeMs, type CreateLogin, type LoginRecord } from '../../server/store/access/people-types.ts'
import type { ContractTest } from './store-contract.ts'
import { everyone, type StoreWorld } from './store-world.ts'

const dayMs = 86_400_000
const minuteMs = 60_000
const all = { limit: 1000, offset: 0 }
let hashes = 0

function draftLogin(userId: string, changes: Partial<CreateLogin> = {}): CreateLogin {
  const tokenHash = `login ${++hashes}`
  return { userId, tokenHash, method: 'password', provider: null, userAgent: null, forget: null, ...changes }
}

async function logIn(world: StoreWorld, userId: string, changes: Partial<CreateLogin> = {}) {
  const draft = draftLogin(userId, changes)
  const login = must(await world.store.createLogin(draft), 'a user who may log in')
  return { ...login, tokenHash: draft.tokenHash }
}

async function loginsOf(world: StoreWorld, userId: string): Promise<LoginRecord[]> {
  const { logins, total } = await world.store.listLogins({ userId, ...all })
  expect(total).toBe(logins.length)
  return logins
}

export function describeLogins(contractTest: ContractTest): void {
  describeLives(contractTest)
  describeThrottle(contractTest)
  describePasswords(contractTest)
  describeIdentities(contractTest)
}

function describeLives(contractTest: ContractTest): void {
  contractTest('finds a login and its user by the token hash until the login ends', async (world) => {
    const userId = await world.createUser()
    const { email } = must(await world.store.getAccount(userId), 'an account')
    const draft = draftLogin(userId, { method: 'oidc', provider: 'corp', userAgent: 'Browser/1.0' })
    const login = must(await world.store.createLogin(draft), 'a login')
    const now = world.clock.now()
    expect(login).toEqual({
      id: expect.stringMatching(/^login_/),
      userId,
      method: 'oidc',
      provider: 'corp',
      userAgent: 'Browser/1.0',
      createdAt: now,
      lastUsedAt: now,
      expiresAt: now + loginLifeMs,
    })
    const { expiresAt, id, lastUsedAt } = login
    for (let finds = 0; finds < 2; finds++) {
      expect(await world.store.findLogin(draft.tokenHash)).toEqual({
        id,
        userId,
        email,
        isAdmin: false,
        suspendedAt: null,
        account: { plan: null, limits: null },
        lastUsedAt,
        expiresAt,
      })
    }
    expect(await world.store.findLogin('another')).toBeUndefined()
    const stranger = await world.createUser()
    expect(await world.store.endLogin({ userId: stranger, loginId: id })).toBe(false)
    expect(await world.store.findLogin(draft.tokenHash)).toBeDefined()
    expect(await world.store.endLogin({ userId, loginId: id })).toBe(true)
    expect(await world.store.findLogin(draft.tokenHash)).toBeUndefined()
    expect(await world.store.endLogin({ userId, loginId: id })).toBe(false)
  })

  contractTest('ending all logins of a user ends no others and returns their number', async (world) => {
    const [userId, otherId] = [await world.createUser(), await world.createUser()]
    const own = [await logIn(world, userId), await logIn(world, userId)]
    const other = await logIn(world, otherId)
    for (const { tokenHash } of [...own, other]) await world.store.findLogin(tokenHash)
    expect(await world.store.endLogins(userId)).toBe(2)
    for (const { tokenHash } of own) expect(await world.store.findLogin(tokenHash)).toBeUndefined()
    expect(await world.store.findLogin(other.tokenHash)).toBeDefined()
    expect(await world.store.endLogins(userId)).toBe(0)
  })

  contractTest('changes to a user apply to the next lookup of their login', async (world) => {
    await world.store.createUser({ email: 'admin@example.com', passwordHash: null, isAdmin: true })
    const userId = await world.createUser()
    const { tokenHash } = await logIn(world, userId)
    expect(await world.store.findLogin(tokenHash)).toMatchObject({ isAdmin: false })
    await world.store.updateUser({ userId, isAdmin: true })
    expect(await world.store.findLogin(tokenHash)).toMatchObject({ isAdmin: true })
    await world.store.updateUser({ userId, isSuspended: true })
    expect(await world.store.findLogin(tokenHash)).toBeUndefined()
    expect(await loginsOf(world, userId)).toEqual([])
    expect(await world.store.createLogin(draftLogin(userId))).toBeUndefined()
    await world.store.updateUser({ userId, isSuspended: false })
    expect(await world.store.findLogin(tokenHash)).toBeUndefined()
    expect(await world.store.createLogin(draftLogin(userId))).toBeDefined()
  })

  contractTest('lists logins newest first, in pages, without ended logins', async (world) => {
    const userId = await world.createUser()
    await logIn(world, await world.createUser())
    const first = await logIn(world, userId)
    const second = await logIn(world, userId)
    world.clock.advance(1)
    const third = await logIn(world, userId)
    const ids = async () => (await loginsOf(world, userId)).map(({ id }) => id)
    expect(await ids()).toEqual([third.id, second.id, first.id])
    expect(await world.store.listLogins({ userId, limit: 1, offset: 1 })).toMatchObject({
      logins: [{ id: second.id }],
      total: 3,
    })
    await world.store.endLogin({ userId, loginId: second.id })
    expect(await ids()).toEqual([third.id, first.id])
    // The list omits logins that were not used for a week.
    world.clock.advance(loginIdleMs - 2)
    expect(await ids()).toEqual([third.id, first.id])
    world.clock.advance(1)
    expect(await ids()).toEqual([third.id])
    await world.store.touchLogins([{ loginId: third.id, at: world.clock.now() }])
    for (let weeks = 0; weeks < 3; weeks++) {
      world.clock.advance(loginIdleMs - 1)
      await world.store.touchLogins([{ loginId: third.id, at: world.clock.now() }])
    }
    world.clock.advance(third.expiresAt - world.clock.now() - 1)
    expect(await ids()).toEqual([third.id])
    // A login ends at its maximum age, even if it was used.
    world.clock.advance(1)
    expect(await ids()).toEqual([])
  })

  contractTest('the last use of a login is visible immediately and never moves back', async (world) => {
    const userId = await world.createUser()
    const [one, other] = [await logIn(world, userId), await logIn(world, userId)]
    const start = world.clock.now()
    const found = async () => (await world.store.findLogin(one.tokenHash))?.lastUsedAt
    expect(await found()).toBe(start)
    await world.store.touchLogins([])
    await world.store.touchLogins([
      { loginId: one.id, at: start + 50 },
      { loginId: 'login_unknown', at: start + 70 },
    ])
    expect(await found()).toBe(start + 50)
    await world.store.touchLogins([{ loginId: one.id, at: start + 20 }])
    expect(await found()).toBe(start + 50)
    expect((await world.store.findLogin(other.tokenHash))?.lastUsedAt).toBe(start)
  })

  contractTest("the 101st login of a user ends only that user's least recently used login", async (world) => {
    const [userId, otherId] = [await world.createUser(), await world.createUser()]
    const other = await logIn(world, otherId)
    const logins = []
    for (let index = 0; index < 100; index++) {
      logins.push(await logIn(world, userId))
      world.clock.advance(1)
    }
    const first = logins[0]!
    await world.store.touchLogins([{ loginId: first.id, at: world.clock.now() }])
    for (const { tokenHash } of logins) expect(await world.store.findLogin(tokenHash)).toBeDefined()
    const newest = await logIn(world, userId)
    expect(await world.store.findLogin(logins[1]!.tokenHash)).toBeUndefined()
    for (const { tokenHash } of [first, ...logins.slice(2), newest, other]) {
      expect(await world.store.findLogin(tokenHash)).toBeDefined()
    }
    expect(await loginsOf(world, userId)).toHaveLength(100)
  })

  contractTest('deletes expired logins and keeps live ones', async (world) => {
    const userId = await world.createUser()
    const first = await logIn(world, userId)
    world.clock.advance(1)
    const second = await logIn(world, userId)
    world.clock.advance(loginLifeMs - 2)
    expect(await world.store.purgeExpired()).toBe(false)
    expect(await world.store.findLogin(first.tokenHash)).toBeDefined()
    world.clock.advance(1)
    await world.store.purgeExpired()
    await world.reopen()
    expect(await world.store.findLogin(first.tokenHash)).toBeUndefined()
    expect(await world.store.findLogin(second.tokenHash)).toBeDefined()
  })

  contractTest('purging reports whether more expired logins remain', async (world) => {
    const people = await Promise.all(Array.from({ length: 6 }, () => world.createUser(0)))
    for (const userId of people) await Promise.all(Array.from({ length: 100 }, () => logIn(world, userId)))
    world.clock.advance(loginLifeMs)
    expect(await world.store.purgeExpired()).toBe(true)
    expect(await world.store.purgeExpired()).toBe(false)
    for (const userId of people) expect(await world.store.endLogins(userId)).toBe(0)
  })
}

function describeThrottle(contractTest: ContractTest): void {
  const attempt = (email: string, client: string | null) => ({ email, client })

  contractTest('a login attempt returns the stored password hash, or nothing for an unknown email', async (world) => {
    const created = await world.store.createUser({ email: 'ada@example.com', passwordHash: 'hash', isAdmin: true })
    const id = created.outcome === 'created' ? created.userId : ''
    expect(await world.store.admitLogin(attempt('ADA@example.com', null))).toMatchObject({
      outcome: 'admitted',
      user: { id, email: 'ada@example.com', passwordHash: 'hash', suspendedAt: null },
    })
    expect(await world.store.admitLogin(attempt('bob@example.com', null))).toEqual({
      outcome: 'admitted',
      user: undefined,
    })
  })

  contractTest('blocks the eleventh attempt per email and client, even in parallel, but no others', async (world) => {
    const tries = await Promise.all(
      Array.from({ length: 13 }, (_, index) =>
        world.store.admitLogin(attempt(index % 2 ? 'ada@example.com' : 'ADA@example.com', '192.0.2.1')),
      ),
    )
    const until = world.clock.now() + 15 * minuteMs
    expect(tries.filter(({ outcome }) => outcome === 'admitted')).toHaveLength(10)
    // The order of parallel attempts is not defined.
    const refused = tries.filter(({ outcome }) => outcome === 'refused')
    expect(refused).toEqual([1, 2, 3].map(() => ({ outcome: 'refused', until })))
    expect(await world.store.admitLogin(attempt('ada@example.com', '192.0.2.2'))).toMatchObject({
      outcome: 'admitted',
    })
    expect(await world.store.admitLogin(attempt('bob@example.com', '192.0.2.1'))).toMatchObject({
      outcome: 'admitted',
    })
    // Rejected attempts do not count, so the wait ends at the announced time.
    world.clock.advance(15 * minuteMs - 1)
    expect(await world.store.admitLogin(attempt('ada@example.com', '192.0.2.1'))).toEqual({
      outcome: 'refused',
      until,
    })
    world.clock.advance(1)
    expect(await world.store.admitLogin(attempt('ada@example.com', '192.0.2.1'))).toMatchObject({
      outcome: 'admitted',
    })
  })

  contractTest('limits attempts to 50 per email and 100 per client', async (world) => {
    const { store } = world
    const outcomes = async (attempts: { email: string; client: string | null }[]) => {
      const results = await Promise.all(attempts.map((one) => store.admitLogin(one)))
      return results.filter(({ outcome }) => outcome === 'admitted').length
    }
    const numbers = Array.from({ length: 120 }, (_, index) => index)
    expect(await outcomes(numbers.map((n) => attempt('ada@example.com', `192.0.2.${n}`)))).toBe(50)
    expect(await outcomes(numbers.map((n) => attempt(`p${n}@example.com`, '198.51.100.1')))).toBe(100)
    // All users behind a local proxy seem to have its address, so that address is not counted as one client.
    expect(await outcomes(numbers.map((n) => attempt(`q${n}@example.com`, null)))).toBe(120)
  })

  contractTest('a login clears the attempts for its email and client; a restart clears none', async (world) => {
    const userId = await world.createUser()
    const { email } = must(await world.store.getAccount(userId), 'an account')
    const own = attempt(email, '192.0.2.1')
    for (let tries = 0; tries < 10; tries++) await world.store.admitLogin(own)
    await world.reopen()
    expect(await world.store.admitLogin(own)).toMatchObject({ outcome: 'refused' })
    await logIn(world, userId, { forget: attempt(email.toUpperCase(), '192.0.2.1') })
    for (let tries = 0; tries < 10; tries++) {
      expect(await world.store.admitLogin(own)).toMatchObject({ outcome: 'admitted' })
    }
    expect(await world.store.admitLogin(own)).toMatchObject({ outcome: 'refused' })
    world.clock.advance(15 * minuteMs)
    await world.store.purgeExpired()
    expect(await world.store.admitLogin(own)).toMatchObject({ outcome: 'admitted' })
  })
}

function describePasswords(contractTest: ContractTest): void {
  contractTest('changing a password requires the current one and ends all other logins', async (world) => {
    const created = await world.store.createUser({ email: 'ada@example.com', passwordHash: 'old', isAdmin: false })
    const userId = created.outcome === 'created' ? created.userId : ''
    const [kept, other] = [await logIn(world, userId), await logIn(world, userId)]
    const stranger = await logIn(world, await world.createUser())
    for (const { tokenHash } of [kept, other, stranger]) await world.store.findLogin(tokenHash)
    const change = { userId, passwordHash: 'new', from: 'wrong', keepLoginId: kept.id }
    expect(await world.store.setPassword(change)).toBe(false)
    expect(await world.store.findLogin(other.tokenHash)).toBeDefined()
    const results = await Promise.all([
      world.store.setPassword({ ...change, from: 'old' }),
      world.store.setPassword({ ...change, from: 'old', passwordHash: 'another' }),
    ])
    expect(results.filter(Boolean)).toHaveLength(1)
    expect(await world.store.getUser(userId)).toMatchObject({ passwordHash: results[0] ? 'new' : 'another' })
    expect(await world.store.findLogin(kept.tokenHash)).toBeDefined()
    expect(await world.store.findLogin(other.tokenHash)).toBeUndefined()
    expect(await world.store.findLogin(stranger.tokenHash)).toBeDefined()
    expect(await world.store.setPassword({ ...change, userId: 'user_unknown', from: null })).toBe(false)
  })

  contractTest('rejects a login if the password changes during its check', async (world) => {
    const created = await world.store.createUser({ email: 'ada@example.com', passwordHash: 'new', isAdmin: false })
    const userId = created.outcome === 'created' ? created.userId : ''
    expect(await world.store.createLogin(draftLogin(userId, { ifPasswordHash: 'old' }))).toBeUndefined()
    expect(await loginsOf(world, userId)).toEqual([])
    expect(await world.store.createLogin(draftLogin(userId, { ifPasswordHash: 'new' }))).toBeDefined()
    expect(await world.store.createLogin(draftLogin('user_unknown'))).toBeUndefined()
  })
}

function describeIdentities(contractTest: ContractTest): void {
  const identity = { issuer: 'https://corp.example', subject: 'ada', email: 'ada@example.com', mayCreate: false }

  contractTest('links an identity by verified email, then recognizes it by its subject', async (world) => {
    const created = await world.store.createUser({ email: 'ada@example.com', passwordHash: null, isAdmin: true })
    const userId = created.outcome === 'created' ? created.userId : ''
    expect(await world.store.openIdentity({ ...identity, email: null })).toEqual({
      outcome: 'refused',
      reason: 'unverified',
    })
    const linked = await world.store.openIdentity({ ...identity, email: 'Ada@Example.com' })
    expect(linked).toEqual({ outcome: 'linked', userId })
    await world.reopen()
    // The email may change or disappear; the subject identifies the user.
    for (const email of ['other@example.com', null, 'ada@example.com']) {
      expect(await world.store.openIdentity({ ...identity, email })).toEqual({ outcome: 'known', userId })
    }
    // The same subject from another issuer is another person.
    const elsewhere = { ...identity, issuer: 'https://other.example', email: null }
    expect(await world.store.openIdentity(elsewhere)).toEqual({ outcome: 'refused', reason: 'unverified' })
    expect((await world.store.listUsers(everyone)).total).toBe(1)
  })

  contractTest('creates a user for an unknown email only if allowed, and only once', async (world) => {
    expect(await world.store.openIdentity(identity)).toEqual({ outcome: 'refused', reason: 'no-account' })
    expect((await world.store.listUsers(everyone)).total).toBe(0)
    const unverified = { ...identity, email: null, mayCreate: true }
    expect(await world.store.openIdentity(unverified)).toEqual({ outcome: 'refused', reason: 'unverified' })
    const opened = await Promise.all(
      Array.from({ length: 4 }, () =>
        world.store.openIdentity({ ...identity, email: 'ADA@example.com', mayCreate: true }),
      ),
    )
    expect(opened.map(({ outcome }) => outcome).toSorted()).toEqual(['created', 'known', 'known', 'known'])
    const { total, users } = await world.store.listUsers(everyone)
    expect([total, users[0]]).toMatchObject([1, { email: 'ada@example.com', isAdmin: false, balance: 0 }])
    expect(await world.store.getUser(users[0]!.id)).toMatchObject({ passwordHash: null })
    expect(new Set(opened.map((one) => 'userId' in one && one.userId))).toEqual(new Set([users[0]!.id]))
  })

  contractTest('gives new users a plan, and a credit once per email and once per subject', async (world) => {
    const newcomer = { plan: 'trial', credit: 500 }
    const open = (subject: string, email: string) =>
      world.store.openIdentity({ ...identity, subject, email, mayCreate: true, newcomer })
    const forget = (email: string) =>
      world.damage([
        `DELETE FROM identities WHERE user_id = (SELECT id FROM users WHERE email = '${email}')`,
        `UPDATE users SET email = 'gone-' || id WHERE email = '${email}'`,
      ])
    const first = await open('ada', 'Ada+x@example.com')
    expect(first).toMatchObject({ outcome: 'created', credit: 500 })
    const userId = 'userId' in first ? first.userId : ''
    expect(await world.store.getUser(userId)).toMatchObject({ balance: 500, plan: 'trial' })
    expect(await open('ada', 'ada+x@example.com')).toEqual({ outcome: 'known', userId })
    // An erased account does not entitle its owner to another credit.
    await forget('ada+x@example.com')
    expect(await open('another', 'ada@example.com')).toEqual({ outcome: 'created', userId: expect.any(String) })
    expect(await open('ada', 'new@example.com')).toEqual({ outcome: 'created', userId: expect.any(String) })
    expect(await open('ben', 'ben@example.com')).toMatchObject({ outcome: 'created', credit: 500 })
    expect(await world.store.verifyLedger()).toMatchObject({ ok: true })
  })

  contractTest('rejects identities of suspended users and links none to them', async (world) => {
    await world.store.createUser({ email: 'admin@example.com', passwordHash: null, isAdmin: true })
    const created = await world.store.createUser({ email: 'ada@example.com', passwordHash: null, isAdmin: false })
    const userId = created.outcome === 'created' ? created.userId : ''
    const suspended = { outcome: 'refused', reason: 'suspended' }
    await world.store.updateUser({ userId, isSuspended: true })
    expect(await world.store.openIdentity({ ...identity, mayCreate: true })).toEqual(suspended)
    await world.store.updateUser({ userId, isSuspended: false })
    expect(await world.store.openIdentity(identity)).toEqual({ outcome: 'linked', userId })
    await world.store.updateUser({ userId, isSuspended: true })
    expect(await world.store.openIdentity(identity)).toEqual(suspended)
  })

  contractTest('logins and identities survive a restart', async (world) => {
    const userId = await world.createUser()
    const { tokenHash, ...login } = await logIn(world, userId)
    world.clock.advance(dayMs)
    await world.reopen()
    expect(await world.store.findLogin(tokenHash)).toMatchObject({ id: login.id, userId })
    expect(await loginsOf(world, userId)).toEqual([login])
  })
}
