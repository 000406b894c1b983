import { get } from 'node:http'
import { text as readText } from 'node:stream/consumers'
import { hashPassword } from '../../server/auth/logins/passwords.ts'
import { must } from '../../server/kernel/assert.ts'
import { Browser, password } from '../api/browser-login.ts'
import { signIn, signUp, signUpAdmin } from '../api/signed-in.ts'
import { startService, type Answer } from '../support/test-service.ts'
import type { Checker } from './documented-answers.ts'

const text = { 'Content-Type': 'text/plain' }
const long = 'x'.repeat(201)
const large = { large: 'x'.repeat(20_000) }

type Headers = Record<string, string>
type Check = (status: number, request: string, body?: unknown, headers?: Headers) => Promise<Answer>

/** Checks responses to a page of the service with that browser's login. */
function checkAs({ service, ...checker }: CheckerOf, browser: Browser): Check {
  return (status, request, body, headers = {}) => {
    const own = { Cookie: browser.cookieHeader, Origin: service.url, 'Sec-Fetch-Site': 'same-origin' }
    return checker.check(status, request, { key: null, body, headers: { ...own, ...headers } })
  }
}

type CheckerOf = { service: Checker['service']; check: Checker['check'] }

function partsOf(checker: Checker): CheckerOf {
  return { service: checker.service, check: (...args) => checker.check(...args) }
}

async function checkBodies(check: Check, requests: string[]): Promise<void> {
  for (const request of requests) {
    await check(413, request, large)
    await check(415, request, '{}', text)
  }
}

/** Sends a request with two Host headers, which the service rejects before it looks up the operation. */
async function askTwoHosts(url: string): Promise<Answer> {
  const { promise, reject, resolve } = Promise.withResolvers<Answer>()
  get(url, { headers: { Host: 'a.example, b.example' } }, (response) => {
    const headers = new Headers(response.headers as Headers)
    readText(response).then(
      (body) => resolve({ status: response.statusCode!, headers, body: JSON.parse(body) }),
      reject,
    )
  }).on('error', reject)
  return await promise
}

export async function checkLogins(checker: Checker): Promise<void> {
  const { service } = checker
  const parts = partsOf(checker)
  const stranger = checkAs(parts, new Browser(service))
  const passwordHash = await hashPassword(password)
  const { browser, email, userId } = await signUp(service, { passwordHash })
  await stranger(200, 'GET /api/login')
  const answer = await askTwoHosts(`${service.url}/api/login`)
  checker.note(400, 'GET /api/login', { answer })
  await stranger(200, 'POST /api/login', { email, password })
  await stranger(400, 'POST /api/login', { email })
  await stranger(401, 'POST /api/login', { email, password: 'a wrong password' })
  await stranger(403, 'POST /api/login', { email, password }, { Origin: 'https://evil.example' })

  const check = checkAs(parts, browser)
  const other = must((await service.app.store.listLogins({ userId, limit: 1, offset: 0 })).logins[0], 'a login')
  await check(200, 'GET /api/logins')
  await check(400, 'GET /api/logins?limit=x')
  await check(200, `DELETE /api/logins/${other.id}`)
  await check(404, `DELETE /api/logins/${other.id}`)
  await check(400, `DELETE /api/logins/${long}`)
  const change = { currentPassword: password, newPassword: 'another password' }
  await check(400, 'POST /api/account/password', { ...change, currentPassword: 'wrong' })
  await check(200, 'POST /api/account/password', change)
  const without = await signUp(service)
  await checkAs(parts, without.browser)(409, 'POST /api/account/password', change)
  await check(400, 'POST /api/account/erase', { password: 'wrong' })
  await checkAs(parts, without.browser)(200, 'POST /api/account/erase', {})
  await checkBodies(check, [
    'POST /api/login',
    'POST /api/account/password',
    'POST /api/account/erase',
    'POST /api/logout',
  ])
  await check(400, 'POST /api/logout', [])
  await check(200, 'POST /api/logout', {})
  await checkAs(parts, await signIn(service, userId))(200, 'DELETE /api/logins')

  const guessed = await signUp(service, { passwordHash })
  for (let tries = 0; tries < 10; tries++) await service.app.store.admitLogin({ email: guessed.email, client: null })
  await stranger(429, 'POST /api/login', { email: guessed.email, password })
  await checkAs(parts, guessed.browser)(429, 'POST /api/account/password', change)
  await checkAs(parts, guessed.browser)(429, 'POST /api/account/erase', { password })
  const rich = await signUp(service)
  await service.app.store.credit({ userId: rich.userId, amount: 1, description: '', idempotencyKey: null })
  await checkAs(parts, rich.browser)(409, 'POST /api/account/erase', {})
  await checkExport(parts, rich.browser)
}

/** Holds each kind of export, so that another one is rejected. */
async function checkExport(parts: ReturnType<typeof partsOf>, browser: Browser): Promise<void> {
  const check = checkAs(parts, browser)
  const { store } = parts.service.app
  const { audit, exportTasks, exportTransactions } = store
  const { note } = audit
  const [begun, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  audit.note = async (act) => {
    begun.resolve()
    await released.promise
    await note(act)
  }
  const first = check(200, 'GET /api/account/export')
  await begun.promise
  await check(429, 'GET /api/account/export')
  const [reading, read] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  store.exportTransactions = async (of) => {
    reading.resolve()
    await read.promise
    return await exportTransactions(of)
  }
  const path = 'GET /api/transactions/export'
  const csv = check(200, path)
  await reading.promise
  await check(429, path)
  await check(400, `${path}?type=other`)
  const [readingTasks, readTasks] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  store.exportTasks = async (of) => {
    readingTasks.resolve()
    await readTasks.promise
    return await exportTasks(of)
  }
  const ofTasks = 'GET /api/tasks/export'
  const tasks = check(200, ofTasks)
  await readingTasks.promise
  await check(429, ofTasks)
  await check(400, `${ofTasks}?status=other`)
  released.resolve()
  read.resolve()
  readTasks.resolve()
  await Promise.all([first, csv, tasks])
  audit.note = note
  store.exportTransactions = exportTransactions
  store.exportTasks = exportTasks
}

export async function checkInvitations(checker: Checker): Promise<void> {
  const { service } = checker
  const parts = partsOf(checker)
  const { browser } = await signUpAdmin(service)
  const check = checkAs(parts, browser)
  const stranger = checkAs(parts, new Browser(service))
  const accept = 'POST /api/invitations/accept'
  const invite = async (email: string) => {
    const { body } = await check(200, 'POST /api/invitations', { email, isAdmin: false, creditUsd: '1.5' })
    return { id: body.id, token: body.url.split('#')[1] }
  }
  const [one, two, taken] = [
    await invite('one@example.com'),
    await invite('two@example.com'),
    await invite('taken@example.com'),
  ]
  await check(400, 'POST /api/invitations', { email: 'nobody' })
  await stranger(200, 'POST /api/invitations/check', { token: one.token })
  await stranger(400, 'POST /api/invitations/check', {})
  await stranger(400, accept, { token: one.token, password: 'short' })
  await stranger(403, accept, { token: one.token, password }, { Origin: 'https://evil.example' })
  await stranger(200, accept, { token: one.token, password })
  await stranger(404, accept, { token: one.token, password })
  await stranger(404, 'POST /api/invitations/check', { token: one.token })
  await signUp(service, { email: 'taken@example.com' })
  await stranger(409, accept, { token: taken.token, password })
  await check(409, 'POST /api/invitations', { email: 'taken@example.com' })
  await check(200, 'GET /api/invitations')
  await check(400, 'GET /api/invitations?limit=0')
  await check(200, `DELETE /api/invitations/${two.id}`)
  await check(404, `DELETE /api/invitations/${two.id}`)
  await check(400, `DELETE /api/invitations/${long}`)
  const reset = 'POST /api/password-resets'
  const email = 'one@example.com'
  const signUpOf = 'POST /api/sign-up'
  for (const request of [reset, signUpOf]) {
    for (let count = 0; count < 10; count++) await stranger(200, request, { email })
    await stranger(429, request, { email })
    await stranger(400, request, { email: 'nobody' })
  }
  await checkBodies(check, ['POST /api/invitations', 'POST /api/invitations/check', accept, reset, signUpOf])
  const without = await startService()
  for (const request of [reset, signUpOf]) {
    const answer = await without.post(request.slice('POST '.length), { email })
    checker.note(404, request, { answer, body: { email } })
  }
  await without.stop()
}

export async function checkUsers(checker: Checker): Promise<void> {
  const { service } = checker
  const { browser } = await signUpAdmin(service)
  const check = checkAs(partsOf(checker), browser)
  const { key, userId } = await service.createPerson()
  const at = `/api/users/${userId}`
  const { taskId } = (await service.createTask(key, 'gate.run', {})).body
  await service.post(`/api/tasks/${taskId}/cancel`, {}, { key })
  const top = { amountUsd: '1.5', reason: 'Top-up' }
  const named = { 'Idempotency-Key': 'once' }
  await check(200, 'GET /api/users?search=example&limit=2')
  await check(200, `GET ${at}`)
  await check(200, `GET ${at}/transactions`)
  await check(200, `GET ${at}/tasks`)
  await check(200, `GET ${at}/tasks/${taskId}`)
  await check(200, `GET ${at}/sessions`)
  await signIn(service, userId)
  const { logins } = (await check(200, `GET ${at}/logins`)).body
  await check(200, `DELETE ${at}/logins/${logins[0].id}`)
  await check(404, `DELETE ${at}/logins/${logins[0].id}`)
  await check(400, `DELETE ${at}/logins/${long}`)
  await check(400, `GET ${at}/logins?limit=0`)
  await check(200, `GET /api/admin/owners/${taskId}`)
  await check(400, `GET ${at}/tasks?limit=0`)
  await check(400, `GET ${at}/tasks/${long}`)
  await check(400, `GET ${at}/sessions?limit=0`)
  await check(400, `GET /api/admin/owners/${long}`)
  await check(404, `GET ${at}/tasks/task_0`)
  await check(404, 'GET /api/admin/owners/task_0')
  await check(200, `POST ${at}/unblock`)
  await check(200, `POST ${at}/password-link`)
  await check(200, `POST ${at}/credit`, top, named)
  await check(409, `POST ${at}/credit`, { ...top, amountUsd: '2' }, named)
  await check(400, `POST ${at}/credit`, { ...top, amountUsd: '-99' })
  await check(200, `PATCH ${at}`, { isSuspended: true })
  await check(400, `PATCH ${at}`, {})
  // Suspends all admins but this one.
  const { users } = (await check(200, 'GET /api/users?limit=100')).body
  const own = (await check(200, 'GET /api/account')).body.userId
  for (const { id, isAdmin } of users) {
    if (isAdmin && id !== own) await check(200, `PATCH /api/users/${id}`, { isSuspended: true })
  }
  await check(409, `PATCH /api/users/${own}`, { isAdmin: false })
  await check(409, `POST ${at}/erase`)
  await check(400, `POST ${at}/erase`, { forfeitBalanceUsd: 'x' })
  await check(200, `POST ${at}/erase`, { forfeitBalanceUsd: (await check(200, `GET ${at}`)).body.balanceUsd })
  const nobody = '/api/users/user_0'
  const posts = [`POST ${nobody}/erase`, `POST ${nobody}/unblock`, `POST ${nobody}/password-link`]
  for (const request of [
    `GET ${nobody}`,
    `GET ${nobody}/transactions`,
    `GET ${nobody}/tasks`,
    `GET ${nobody}/sessions`,
    `GET ${nobody}/logins`,
    ...posts,
  ])
    await check(404, request)
  await check(404, `PATCH ${nobody}`, { isAdmin: true })
  await check(404, `POST ${nobody}/credit`, top)
  await check(400, 'GET /api/users?limit=0')
  await check(400, `GET /api/users/${long}`)
  await check(400, `GET ${at}/transactions?offset=x`)
  for (const path of ['unblock', 'password-link']) await check(400, `POST /api/users/${long}/${path}`)
  await checkBodies(check, [...posts, `PATCH ${at}`, `POST ${at}/credit`])
  await check(200, 'GET /api/system')
  await check(200, 'GET /api/admin/economics?from=2026-01-01&to=2026-01-31')
  await check(400, 'GET /api/admin/economics?from=2026-01-31&to=2026-01-01')
  const test = 'POST /api/admin/mail/test'
  await check(200, 'GET /api/admin/mail')
  await check(200, test, { to: 'ada@example.com' })
  await check(400, test, { to: 'nobody' })
  await checkBodies(check, [test])
  await check(200, 'GET /api/admin/audit?limit=3')
  await check(400, 'GET /api/admin/audit?action=none')
}

export async function checkPlatformKeys(checker: Checker): Promise<void> {
  const { service } = checker
  const { browser } = await signUpAdmin(service)
  const check = checkAs(partsOf(checker), browser)
  const draft = {
    name: 'shop',
    scopes: ['users', 'credit', 'limits', 'act', 'webhooks', 'economics'],
    addresses: ['127.0.0.1'],
    creditPerDayUsd: '1',
  }
  const { id, key } = (await check(200, 'POST /api/platform-keys', draft)).body
  await check(400, 'POST /api/platform-keys', { ...draft, addresses: ['nowhere'] })
  await check(200, 'GET /api/platform-keys')
  await check(400, 'GET /api/platform-keys?limit=0')
  const asPlatform = (status: number, request: string, body?: unknown) => checker.check(status, request, { key, body })
  const of = '/api/users/by-external-id/'
  const { body: user } = await asPlatform(200, `PUT ${of}one`, {})
  await check(200, `GET ${of}one`)
  await asPlatform(400, `PUT ${of}two`, { email: 'nobody' })
  await asPlatform(409, `PUT ${of}two`, { email: 'taken@example.com' })
  await asPlatform(400, `GET ${of}${long}`)
  await asPlatform(404, `GET ${of}two`)
  const keys = `/api/users/${user.id}/keys`
  const made = (await asPlatform(200, `POST ${keys}`, { name: 'device' })).body
  await asPlatform(200, `GET ${keys}`)
  await asPlatform(200, `DELETE ${keys}/${made.id}`)
  await asPlatform(404, `DELETE ${keys}/key_0`)
  await asPlatform(400, `DELETE ${keys}/${long}`)
  await asPlatform(400, `GET ${keys}?limit=0`)
  await asPlatform(400, `POST ${keys}`, {})
  for (const method of ['GET', 'POST'])
    await asPlatform(404, `${method} /api/users/user_0/keys`, method === 'GET' ? undefined : { name: 'x' })
  const token = await service.post('/api/client-tokens', {}, { key, headers: { 'Errand-User': user.id } })
  await check(200, `PATCH /api/users/${user.id}`, { isAdmin: true })
  await asPlatform(404, `PUT ${of}one`)
  await checkBodies(check, ['POST /api/platform-keys', `POST ${keys}`, `PUT ${of}one`])
  await check(200, `GET /api/platform-keys/${id}`)
  await check(404, 'GET /api/platform-keys/pkey_0')
  await check(400, `GET /api/platform-keys/${long}`)
  const tokens = `DELETE /api/platform-keys/${id}/client-tokens`
  await check(200, `${tokens}/${token.body.id}`)
  await check(404, `${tokens}/ctok_0`)
  await check(400, `${tokens}/${long}`)
  await check(200, `DELETE /api/platform-keys/${id}`)
  await check(404, 'DELETE /api/platform-keys/pkey_0')
  await check(400, `DELETE /api/platform-keys/${long}`)
  const { store } = service.app
  const other = {
    name: 'x',
    hint: 'abcd',
    scopes: ['users' as const],
    addresses: null,
    creditPerDay: null,
    createdBy: null,
  }
  const others = Array.from({ length: 100 }, (_, n) => ({ ...other, tokenHash: `of platform ${n}`, expiresAt: null }))
  await Promise.all(others.map((input) => store.platform.createKey(input)))
  await check(409, 'POST /api/platform-keys', draft)
}

/** Checks the responses for a user who has the maximum number of keys. */
export async function checkFullAccount(checker: Checker, userId: string): Promise<void> {
  const { browser } = await signUpAdmin(checker.service)
  await checkAs(partsOf(checker), browser)(409, `POST /api/users/${userId}/keys`, { name: 'more' })
}

export async function checkClientTokens(checker: Checker): Promise<void> {
  const { service } = checker
  const { key, userId } = await service.createPerson()
  const create = 'POST /api/client-tokens'
  const check = (status: number, request: string, body?: unknown, headers: Headers = {}) =>
    checker.check(status, request, { key, body, headers })
  const { id, token } = (await check(200, create, { maxCostUsd: '1', agents: ['gate'], once: true })).body
  await check(400, create, { expiresInSeconds: 0 })
  await checker.check(403, create, { key: token, body: {} })
  await check(404, create, { sessionId: 'ses_0' })
  await checkBodies(check, [create])
  await check(200, 'GET /api/client-tokens')
  await check(400, 'GET /api/client-tokens?limit=0')
  await check(200, `DELETE /api/client-tokens/${id}`)
  await check(404, 'DELETE /api/client-tokens/ctok_0')
  await check(400, `DELETE /api/client-tokens/${long}`)
  const none = { agents: null, sessionId: null, taskId: null, maxCost: null }
  const other = { ...none, userId, scopes: ['read' as const], isOnce: false, createdBy: 'key_0' }
  const { platform } = service.app.store
  await Promise.all(
    Array.from({ length: 1000 }, (_, n) => platform.createToken({ ...other, lifeMs: 3_600_000, tokenHash: `${n}` })),
  )
  await check(409, create, {})
}
