import { expect, test } from 'vitest'
import { createClient } from '../../client/client.ts'
import { unreachableMail } from '../mails/mail-catcher.ts'
import { operations } from '../pins/documented-answers.ts'
import { startService, type TestService } from '../support/test-service.ts'
import { PlatformCalls } from './platform-calls.ts'
import { signUp, signUpAdmin } from './signed-in.ts'

type AdminCall = { id: string; method: string; path: string; body?: Record<string, unknown> }

/** Ids for calls to all admin operations. With these ids, the calls of an admin would succeed. */
type Ids = Record<
  'userId' | 'loginId' | 'taskId' | 'invitationId' | 'keyId' | 'platformKeyId' | 'platformTokenId',
  string
>

const callsOn = ({
  invitationId,
  keyId,
  loginId,
  platformKeyId,
  platformTokenId,
  taskId,
  userId,
}: Ids): AdminCall[] => [
  { id: 'listUsers', method: 'GET', path: '/api/users' },
  { id: 'getUser', method: 'GET', path: `/api/users/${userId}` },
  // Before updateUser, which ends the logins.
  { id: 'listUserLogins', method: 'GET', path: `/api/users/${userId}/logins` },
  { id: 'endUserLogin', method: 'DELETE', path: `/api/users/${userId}/logins/${loginId}` },
  { id: 'updateUser', method: 'PATCH', path: `/api/users/${userId}`, body: { isSuspended: true, isAdmin: true } },
  { id: 'unblockUser', method: 'POST', path: `/api/users/${userId}/unblock`, body: {} },
  {
    id: 'creditUser',
    method: 'POST',
    path: `/api/users/${userId}/credit`,
    body: { amountUsd: '1', reason: 'Top-up' },
  },
  { id: 'listUserTransactions', method: 'GET', path: `/api/users/${userId}/transactions` },
  { id: 'findOwner', method: 'GET', path: `/api/admin/owners/${taskId}` },
  { id: 'listUserTasks', method: 'GET', path: `/api/users/${userId}/tasks` },
  { id: 'getUserTask', method: 'GET', path: `/api/users/${userId}/tasks/${taskId}` },
  { id: 'listUserSessions', method: 'GET', path: `/api/users/${userId}/sessions` },
  { id: 'getOrCreateUser', method: 'PUT', path: '/api/users/by-external-id/one', body: {} },
  { id: 'getUserByExternalId', method: 'GET', path: '/api/users/by-external-id/one' },
  { id: 'createUserKey', method: 'POST', path: `/api/users/${userId}/keys`, body: { name: 'device' } },
  { id: 'listUserKeys', method: 'GET', path: `/api/users/${userId}/keys` },
  { id: 'revokeUserKey', method: 'DELETE', path: `/api/users/${userId}/keys/${keyId}` },
  { id: 'createPlatformKey', method: 'POST', path: '/api/platform-keys', body: { name: 'shop', scopes: ['act'] } },
  { id: 'listPlatformKeys', method: 'GET', path: '/api/platform-keys' },
  { id: 'revokePlatformKey', method: 'DELETE', path: `/api/platform-keys/${platformKeyId}` },
  { id: 'getPlatformKey', method: 'GET', path: `/api/platform-keys/${platformKeyId}` },
  {
    id: 'revokePlatformClientToken',
    method: 'DELETE',
    path: `/api/platform-keys/${platformKeyId}/client-tokens/${platformTokenId}`,
  },
  { id: 'createPasswordLink', method: 'POST', path: `/api/users/${userId}/password-link`, body: {} },
  { id: 'createInvitation', method: 'POST', path: '/api/invitations', body: { email: 'new@example.com' } },
  { id: 'listInvitations', method: 'GET', path: '/api/invitations' },
  { id: 'revokeInvitation', method: 'DELETE', path: `/api/invitations/${invitationId}` },
  { id: 'listAllTopups', method: 'GET', path: '/api/payments' },
  { id: 'getSystem', method: 'GET', path: '/api/system' },
  { id: 'getEconomics', method: 'GET', path: '/api/admin/economics?from=2026-01-01&to=2026-01-31' },
  { id: 'listAudit', method: 'GET', path: '/api/admin/audit' },
  { id: 'getMail', method: 'GET', path: '/api/admin/mail' },
  { id: 'sendTestMail', method: 'POST', path: '/api/admin/mail/test', body: { to: 'ada@example.com' } },
  { id: 'eraseUser', method: 'POST', path: `/api/users/${userId}/erase`, body: { forfeitBalanceUsd: '1' } },
]

async function everything({ app: { store } }: TestService): Promise<unknown> {
  const page = { limit: 100, offset: 0 }
  const { users } = await store.listUsers(page)
  const transactions = users.map(({ id }) => store.listTransactions({ ...page, userId: id }))
  return [
    users,
    await Promise.all(transactions),
    await store.listInvitations(page),
    await store.platform.listKeys(page),
  ]
}

// Never used, because these tests do not call the provider.
const payments = { secretKey: 'sk_test_none', webhookSecret: 'whsec_none', returnOrigins: [] }

async function prepare() {
  const service = await startService({ mail: unreachableMail, payments })
  const admin = await signUpAdmin(service)
  const person = await signUp(service)
  const { body: invited } = await admin.browser.post('/api/invitations', { email: 'invited@example.com' })
  const { keyId: platformKeyId } = await PlatformCalls.open(service)
  const token = await service.app.store.platform.createToken({
    userId: person.userId,
    tokenHash: 'of the token',
    scopes: ['read'],
    agents: null,
    sessionId: null,
    taskId: null,
    maxCost: null,
    isOnce: false,
    createdBy: platformKeyId,
    lifeMs: 3_600_000,
  })
  const draft = { userId: person.userId, name: 'own', hint: 'abcd', scopes: ['read' as const], expiresAt: null }
  const { id: keyId } = await service.app.store.createKey({ ...draft, tokenHash: 'of the key' })
  const { id: taskId } = await service.runTask(await service.createKey(person.userId), 'test.free')
  const { logins } = await service.app.store.listLogins({ userId: person.userId, limit: 1, offset: 0 })
  const calls = callsOn({
    userId: person.userId,
    loginId: logins[0]!.id,
    taskId,
    invitationId: invited.id,
    keyId,
    platformKeyId,
    platformTokenId: token.id,
  })
  return { service, admin, person, calls }
}

test('the tests cover every admin operation in the OpenAPI document', async () => {
  const ofAdmins = /Users|Invitations|Platform keys|System/
  const own = operations.filter(({ spec }) => ofAdmins.test(spec['tags']) && spec['security'].length > 0)
  const nothing = {
    userId: 'user_0',
    loginId: 'login_0',
    taskId: 'task_0',
    invitationId: 'inv_0',
    keyId: 'key_0',
    platformKeyId: 'pkey_0',
    platformTokenId: 'ctok_0',
  }
  const tried = callsOn(nothing).map(({ id }) => id)
  expect(own.map(({ id }) => id).toSorted()).toEqual(tried.toSorted())
  for (const { spec } of own) expect(spec['security']).toContainEqual({ browserSession: [] })
})

test('every admin operation returns 401 without a login and changes nothing', async () => {
  const { calls, service } = await prepare()
  const before = await everything(service)
  for (const { body, id, method, path } of calls) {
    const answer = await service.request(method, path, { body })
    expect([id, answer.status, answer.body.error]).toEqual([id, 401, 'Unauthorized'])
    const withRubbish = await service.request(method, path, { body, headers: { Cookie: 'errand=rubbish' } })
    expect([id, withRubbish.status]).toEqual([id, 401])
  }
  expect(await everything(service)).toEqual(before)
  await service.stop()
})

test("every admin operation returns 403 for any key, even an admin's, and changes nothing", async () => {
  const { admin, calls, person, service } = await prepare()
  const before = await everything(service)
  for (const { userId } of [admin, person]) {
    const key = await service.createKey(userId)
    for (const { body, id, method, path } of calls) {
      const answer = await service.request(method, path, { body, key })
      const error = {
        error: 'Forbidden',
        message: "This operation requires an admin's browser login. Log in as an admin.",
        statusCode: 403,
        code: 'FORBIDDEN',
      }
      expect([id, answer.status, answer.body]).toEqual([id, 403, error])
      // An admin's cookie does not help, because the header takes precedence.
      const Cookie = admin.browser.cookieHeader
      const both = await service.request(method, path, { body, key, headers: { Cookie, Origin: service.url } })
      expect([id, both.status]).toEqual([id, 403])
    }
  }
  expect(await everything(service)).toEqual(before)
  await service.stop()
})

test('every admin operation returns 403 for a non-admin login and changes nothing', async () => {
  const { calls, person, service } = await prepare()
  const before = await everything(service)
  for (const { body, id, method, path } of calls) {
    const answer = await person.browser.request(method, path, { body })
    const error = {
      error: 'Forbidden',
      message: 'This operation is only for admins. Ask an admin to perform it.',
      statusCode: 403,
      code: 'FORBIDDEN',
    }
    expect([id, answer.status, answer.body]).toEqual([id, 403, error])
  }
  expect(await everything(service)).toEqual(before)
  await service.stop()
})

test('every admin operation returns 200 for an admin login', async () => {
  const { admin, calls, service } = await prepare()
  for (const { body, id, method, path } of calls) {
    const answer = await admin.browser.request(method, path, { body })
    expect([id, answer.status]).toEqual([id, 200])
  }
  await service.stop()
})

test("typed RPC rejects an admin's key like REST", async () => {
  const { admin, person, service } = await prepare()
  const before = await everything(service)
  const client = createClient({ baseUrl: service.url, apiKey: await service.createKey(admin.userId) })
  const { userId } = person
  const calls = [
    client.users.list(),
    client.users.get({ userId }),
    client.users.update({ userId, isAdmin: true }),
    client.users.unblock({ userId }),
    client.users.credit({ userId, amountUsd: '1', reason: 'Top-up' }),
    client.users.transactions({ userId }),
    client.users.findOwner({ resourceId: userId }),
    client.users.tasks({ userId }),
    client.users.task({ userId, taskId: 'task_0' }),
    client.users.sessions({ userId }),
    client.users.createPasswordLink({ userId }),
    client.invitations.create({ email: 'new@example.com' }),
    client.invitations.list(),
    client.invitations.revoke({ invitationId: 'inv_0' }),
    client.system.get(),
  ]
  for (const result of await Promise.allSettled(calls)) {
    expect(result).toMatchObject({ status: 'rejected', reason: { code: 'FORBIDDEN', status: 403 } })
  }
  expect(await everything(service)).toEqual(before)
  await service.stop()
})

test('returns 404 for an unknown user id and changes nothing', async () => {
  const { admin, service } = await prepare()
  const before = await everything(service)
  const nobody = {
    userId: 'user_00000000000000000000000000',
    loginId: 'login_0',
    taskId: 'task_0',
    invitationId: 'inv_0',
    keyId: 'key_0',
    platformKeyId: 'pkey_0',
    platformTokenId: 'ctok_0',
  }
  const onUser = callsOn(nobody).filter(({ path }) => path.includes('user_'))
  expect(onUser).toHaveLength(15)
  for (const { body, id, method, path } of onUser) {
    const answer = await admin.browser.request(method, path, { body })
    expect([id, answer.status, answer.body]).toEqual([
      id,
      404,
      { error: 'Not found', message: 'User not found. Check the id.', statusCode: 404, code: 'NOT_FOUND' },
    ])
  }
  const link = await admin.browser.delete('/api/invitations/inv_0')
  expect([link.status, link.body.message]).toEqual([404, 'Invitation not found. Check the id.'])
  expect(await everything(service)).toEqual(before)
  await service.stop()
})

test('granting or removing admin rights takes effect on the next request', async () => {
  const { admin, person, service } = await prepare()
  const get = () => person.browser.get('/api/users')
  const set = (isAdmin: boolean) => admin.browser.request('PATCH', `/api/users/${person.userId}`, { body: { isAdmin } })
  expect((await get()).status).toBe(403)
  expect((await set(true)).body).toMatchObject({ id: person.userId, isAdmin: true })
  expect((await get()).status).toBe(200)
  expect((await person.browser.get('/api/account')).body.isAdmin).toBe(true)
  expect((await set(false)).body).toMatchObject({ id: person.userId, isAdmin: false })
  expect((await get()).status).toBe(403)
  await service.stop()
})
