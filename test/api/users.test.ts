import { expect, test } from 'vitest'
import { FakeClock } from '../support/fake-clock.ts'
import { sessionAgents } from './session-calls.ts'
import testAgents from '../support/test-agents.ts'
import { startService, type TestService } from '../support/test-service.ts'
import { expectStatus, signUp, signUpAdmin } from './signed-in.ts'

/** Creates users in this order, except that each group of `crowd` users is created concurrently. */
async function createMany({ app: { store } }: TestService, emails: string[], crowd = 1): Promise<void> {
  for (let first = 0; first < emails.length; first += crowd) {
    const some = emails.slice(first, first + crowd)
    await Promise.all(some.map((email) => store.createUser({ email, passwordHash: null, isAdmin: false })))
  }
}

test('a user has exactly the documented fields', async () => {
  const clock = new FakeClock()
  const service = await startService({ clock, limits: { abuseFailures: 1 } })
  const { browser } = await signUpAdmin(service, { email: 'Admin@Example.com' })
  clock.advance(1000)
  const { key, userId } = await service.createPerson({ email: 'Ada@Example.com', balanceUsd: '12.5' })
  const ada = {
    id: userId,
    email: 'ada@example.com',
    externalId: null,
    erasedAt: null,
    isAdmin: false,
    isSuspended: false,
    balanceUsd: '12.5000',
    heldUsd: '0.0000',
    owedUsd: '0.0000',
    writtenOffUsd: '0.0000',
    plan: null,
    limits: {},
    blockedUntil: null,
    connectorsBlockedUntil: null,
    createdAt: '2026-01-15T12:00:01.000Z',
  }
  expect(await expectStatus(200, browser.get(`/api/users/${userId}`))).toEqual(ada)
  await service.runTask(key, 'test.fail')
  const blocked = { ...ada, blockedUntil: '2026-01-15T12:10:01.000Z' }
  expect(await expectStatus(200, browser.get(`/api/users/${userId}`))).toEqual(blocked)
  const { users, ...rest } = await expectStatus(200, browser.get('/api/users'))
  expect(users).toEqual([
    expect.objectContaining({ email: 'admin@example.com', isAdmin: true, spentUsd: '0.0000', activeOn: null }),
    { ...blocked, spentUsd: '0.0000', activeOn: '2026-01-15' },
  ])
  const inOrder = async (order: string) =>
    (await expectStatus(200, browser.get(`/api/users?order=${order}`))).users.map(({ id }: { id: string }) => id)
  expect(await inOrder('active')).toEqual([userId, users[0].id])
  expect(await inOrder('spent')).toEqual([users[0].id, userId])
  await expectStatus(400, browser.get('/api/users?order=name'))
  expect(rest).toEqual({ total: 2, limit: 50, offset: 0 })
  clock.advance(600_000)
  expect(await expectStatus(200, browser.get(`/api/users/${userId}`))).toEqual(ada)
  await service.stop()
})

test('lists 2,500 users page by page in creation order, each exactly once', async () => {
  const service = await startService()
  const { browser, email } = await signUpAdmin(service)
  const emails = Array.from({ length: 2500 }, (_, index) => `user-${(index * 7919) % 2500}@example.com`)
  await createMany(service, emails, 100)
  const read: string[] = []
  for (let offset = 0; offset < 2600; offset += 100) {
    const page = await expectStatus(200, browser.get(`/api/users?limit=100&offset=${offset}`))
    expect(page).toMatchObject({ total: 2501, limit: 100, offset })
    read.push(...page.users.map((user: { email: string }) => user.email))
  }
  expect(read.slice(0, 1)).toEqual([email])
  for (let at = 0; at < emails.length; at += 100) {
    expect(read.slice(at + 1, at + 101).toSorted()).toEqual(emails.slice(at, at + 100).toSorted())
  }
  expect(await expectStatus(200, browser.get('/api/users?offset=2501'))).toMatchObject({ users: [], total: 2501 })
  await service.stop()
})

test("an admin finds the owner of an id, and sees a user's runs without what was sent and returned", async () => {
  const service = await startService({
    config: { agents: [...testAgents.agents, ...sessionAgents.agents.slice(0, 1)] },
  })
  const { browser } = await signUpAdmin(service)
  const { key, userId } = await service.createPerson({ email: 'ada@example.com' })
  const task = await service.runTask(key, 'test.fail', { secret: 'of Ada' })
  const { sessionId } = (
    await service.post('/api/sessions', { agentId: 'one', metadata: { a: 'secret' }, title: 'secret' }, { key })
  ).body
  const { transactions } = (await service.get('/api/transactions', key)).body
  const owner = { userId, email: 'ada@example.com' }
  const find = (id: string) => browser.get(`/api/admin/owners/${id}`)
  expect(await expectStatus(200, find(task.id))).toEqual({ type: 'task', taskId: task.id, ...owner })
  expect(await expectStatus(200, find(sessionId))).toEqual({ type: 'session', sessionId, ...owner })
  expect(await expectStatus(200, find(transactions[0].id))).toMatchObject({ type: 'transaction', taskId: task.id })
  expect(await expectStatus(200, find(task.keyId))).toEqual({ type: 'key', ...owner })
  expect(await expectStatus(404, find(`${task.id}0`))).toMatchObject({
    message: 'No resource has this id. Check the id.',
  })
  const { progress: _, request, response, ...shown } = task
  expect([request, response]).toEqual([{ secret: 'of Ada' }, null])
  expect(await expectStatus(200, browser.get(`/api/users/${userId}/tasks/${task.id}`))).toEqual(shown)
  await expectStatus(400, browser.get(`/api/users/${userId}/tasks?status=unknown`))
  const listed = await expectStatus(200, browser.get(`/api/users/${userId}/tasks?status=failed&limit=1`))
  expect(listed).toMatchObject({ total: 1, tasks: [{ id: task.id, errorCode: 'AGENT_ERROR' }] })
  expect(await expectStatus(200, browser.get(`/api/users/${userId}/tasks?status=completed`))).toMatchObject({
    total: 0,
  })
  const { sessions } = await expectStatus(200, browser.get(`/api/users/${userId}/sessions`))
  expect(sessions).toEqual([expect.objectContaining({ id: sessionId, agentId: 'one' })])
  expect(JSON.stringify([listed, sessions])).not.toContain('ecret')
  const found = await expectStatus(200, browser.get(`/api/users/${userId}/sessions?search=nothing`))
  expect(found.total, 'search is not offered').toBe(1)
  const stranger = await service.createPerson()
  await expectStatus(404, browser.get(`/api/users/${stranger.userId}/tasks/${task.id}`))
  await service.stop()
})

test('search matches part of the email address literally, ignoring case, with a correct total', async () => {
  const service = await startService()
  const { browser } = await signUpAdmin(service, { email: 'admin@other.test' })
  await createMany(service, [
    ...Array.from({ length: 230 }, (_, index) => `worker-${index}@alpha.example.com`),
    'Grace.Hopper@navy.example.org',
    'per%cent@example.net',
    'under_score@example.net',
  ])
  const found = async (search: string, page = '') => {
    const { total, users } = await expectStatus(
      200,
      browser.get(`/api/users?search=${encodeURIComponent(search)}${page}`),
    )
    return [total, users.map(({ email }: { email: string }) => email)]
  }
  expect(await found('ALPHA.example', '&limit=2&offset=228')).toEqual([
    230,
    ['worker-228@alpha.example.com', 'worker-229@alpha.example.com'],
  ])
  expect(await found('hOPPER@')).toEqual([1, ['grace.hopper@navy.example.org']])
  expect(await found('%')).toEqual([1, ['per%cent@example.net']])
  expect(await found('_')).toEqual([1, ['under_score@example.net']])
  expect(await found('worker-22@')).toEqual([1, ['worker-22@alpha.example.com']])
  expect(await found("' OR 1=1 --")).toEqual([0, []])
  expect((await found(''))[0]).toBe(234)
  await service.stop()
})

test('returns 400 with the field for an invalid list query or change', async () => {
  const service = await startService()
  const { browser, userId } = await signUpAdmin(service)
  const lists = { limit: ['limit=0', 'limit=101', 'limit=x'], offset: ['offset=-1', 'offset=1.5'] }
  for (const [field, queries] of Object.entries(lists)) {
    for (const path of ['/api/users', `/api/users/${userId}/transactions`, '/api/invitations']) {
      for (const query of queries) {
        const { details } = await expectStatus(400, browser.get(`${path}?${query}`))
        expect(details, query).toMatchObject([{ path: field }])
      }
    }
  }
  const long = `search=${'x'.repeat(255)}`
  expect((await expectStatus(400, browser.get(`/api/users?${long}`))).details).toMatchObject([{ path: 'search' }])
  for (const [body, path] of [
    [{}, ''],
    [{ isSuspended: 'yes' }, 'isSuspended'],
    [{ isAdmin: null }, 'isAdmin'],
  ] as const) {
    const { details } = await expectStatus(400, browser.request('PATCH', `/api/users/${userId}`, { body }))
    expect(details).toMatchObject([{ path }])
  }
  await service.stop()
})

test('unblocking admits the next task; unblocking an unblocked user changes nothing', async () => {
  const service = await startService({ limits: { abuseFailures: 1 } })
  const { browser } = await signUpAdmin(service)
  const { key, userId } = await service.createPerson()
  const unblock = () => expectStatus(200, browser.request('POST', `/api/users/${userId}/unblock`))
  const before = await unblock()
  expect(before).toMatchObject({ id: userId, blockedUntil: null })
  await service.runTask(key, 'test.fail')
  expect((await service.createTask(key, 'test.echo')).status).toBe(403)
  expect((await browser.get(`/api/users/${userId}`)).body.blockedUntil).not.toBeNull()
  expect(await unblock()).toEqual(before)
  expect((await service.createTask(key, 'test.echo')).status).toBe(200)
  await service.stop()
})

test('suspending ends logins and rejects keys immediately; resuming accepts the keys again', async () => {
  const service = await startService()
  const admin = await signUpAdmin(service)
  const person = await signUp(service)
  const other = await signUp(service)
  const key = await service.createKey(person.userId)
  const suspend = (isSuspended: boolean) =>
    expectStatus(200, admin.browser.request('PATCH', `/api/users/${person.userId}`, { body: { isSuspended } }))
  const withKey = () => service.get('/api/account', key)
  // Uses both credentials, so that the service caches them.
  expect([await person.browser.status(), (await withKey()).status]).toEqual([200, 200])

  expect(await suspend(true)).toMatchObject({ id: person.userId, isSuspended: true })
  expect(await person.browser.status()).toBe(401)
  const refused = await withKey()
  expect([refused.status, refused.body]).toEqual([
    403,
    { error: 'Forbidden', message: 'This account is suspended. Contact an admin.', statusCode: 403, code: 'FORBIDDEN' },
  ])
  expect((await service.createTask(key, 'test.echo')).status).toBe(403)
  expect(await other.browser.status()).toBe(200)
  expect(await admin.browser.status()).toBe(200)
  expect((await service.app.store.listLogins({ userId: person.userId, limit: 10, offset: 0 })).total).toBe(0)
  expect(await suspend(true)).toMatchObject({ isSuspended: true })
  const listed = await expectStatus(200, admin.browser.get(`/api/users?search=${person.email}`))
  expect(listed.users).toMatchObject([{ isSuspended: true }])

  expect(await suspend(false)).toMatchObject({ isSuspended: false })
  expect((await withKey()).status).toBe(200)
  expect(await person.browser.status()).toBe(401)
  await service.stop()
})

test('returns 409 and changes nothing if no active admin would be left', async () => {
  const service = await startService()
  const last = await signUpAdmin(service)
  const second = await signUpAdmin(service)
  const change = (userId: string, body: object) => last.browser.request('PATCH', `/api/users/${userId}`, { body })
  await expectStatus(200, change(second.userId, { isSuspended: true }))
  // Suspended admins do not count, so the other admin is the last one.
  for (const body of [{ isAdmin: false }, { isSuspended: true }, { isAdmin: false, isSuspended: true }]) {
    expect(await expectStatus(409, change(last.userId, body))).toEqual({
      error: 'Conflict',
      message: 'This is the last active admin. Make another user an admin first.',
      statusCode: 409,
      code: 'CONFLICT',
    })
  }
  expect(await expectStatus(200, last.browser.get(`/api/users/${last.userId}`))).toMatchObject({
    isAdmin: true,
    isSuspended: false,
  })
  expect(await expectStatus(200, change(last.userId, { isAdmin: true, isSuspended: false }))).toBeDefined()
  await expectStatus(200, change(second.userId, { isSuspended: false }))
  await expectStatus(200, change(last.userId, { isAdmin: false }))
  expect((await last.browser.get('/api/users')).status).toBe(403)
  await service.stop()
})

test("if two admins simultaneously remove each other's rights, one stays admin", async () => {
  const service = await startService()
  for (const body of [{ isAdmin: false }, { isSuspended: true }, { isAdmin: false }, { isSuspended: true }]) {
    const admins = [await signUpAdmin(service), await signUpAdmin(service)] as const
    for (const { id } of (await service.app.store.listUsers({ limit: 1000, offset: 0 })).users) {
      if (admins.every(({ userId }) => userId !== id)) {
        await service.app.store.updateUser({ userId: id, isAdmin: false, isSuspended: true })
      }
    }
    const [one, two] = admins
    const answers = await Promise.all([
      one.browser.request('PATCH', `/api/users/${two.userId}`, { body }),
      two.browser.request('PATCH', `/api/users/${one.userId}`, { body }),
    ])
    expect(answers.map(({ status }) => status).toSorted()[0]).toBe(200)
    expect([401, 403, 409]).toContain(answers.map(({ status }) => status).toSorted()[1])
    const { users } = await service.app.store.listUsers({ limit: 1000, offset: 0 })
    expect(users.filter(({ isAdmin, suspendedAt }) => isAdmin && suspendedAt === null)).toHaveLength(1)
  }
  await service.stop()
})

test("an admin's open links end on suspension or loss of admin rights; other admins' links stay", async () => {
  const service = await startService()
  const keeper = await signUpAdmin(service)
  for (const body of [{ isSuspended: true }, { isAdmin: false }]) {
    const gone = await signUpAdmin(service)
    const linkOf = async (browser: typeof gone.browser, path: string, input: object) =>
      (await expectStatus(200, browser.post(path, input))).url.split('#')[1]
    const lost = [
      await linkOf(gone.browser, '/api/invitations', { email: `accomplice-${gone.email}`, isAdmin: true }),
      await linkOf(gone.browser, `/api/users/${keeper.userId}/password-link`, {}),
    ]
    const kept = await linkOf(keeper.browser, '/api/invitations', { email: `friend-${gone.email}` })
    await expectStatus(200, keeper.browser.request('PATCH', `/api/users/${gone.userId}`, { body }))
    for (const token of lost) await expectStatus(404, service.post('/api/invitations/check', { token }))
    await expectStatus(200, service.post('/api/invitations/check', { token: kept }))
  }
  await service.stop()
})
