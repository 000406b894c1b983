import { expect, test } from 'vitest'
import { must } from '../../server/kernel/assert.ts'
import { keptBytes } from '../support/test-engine.ts'
import { startService, type Answer } from '../support/test-service.ts'
import { Browser, password } from './browser-login.ts'

const next = 'another horse battery'

test('responses and logs contain no tokens, passwords or hashes; the disk contains only hashes', async () => {
  const logged: string[] = []
  const note = (fields: object, message: string) => {
    logged.push(
      `${message} ${JSON.stringify(fields, (_, value) => (value instanceof Error ? `${value.stack}` : value))}`,
    )
  }
  const service = await startService({ log: { debug: note, info: note, warn: note, error: note } })
  const { email, userId } = await service.createPerson({ password, isAdmin: true })
  const other = await service.createPerson({ password })
  const tokens: string[] = []
  const answers: Answer[] = []
  for (const credentials of [
    { email, password },
    { email: other.email, password },
    { email, password },
  ]) {
    const one = new Browser(service)
    answers.push(await one.logIn(credentials))
    tokens.push(one.token)
  }
  const browser = new Browser(service)
  answers.push(await browser.logInOverRpc({ email, password }))
  tokens.push(browser.token)
  for (const [method, path, body] of [
    ['GET', '/api/account'],
    ['GET', '/trpc/account.get'],
    ['GET', '/api/logins'],
    ['GET', '/api/users'],
    ['GET', `/api/users/${userId}`],
    ['GET', `/api/users/${other.userId}`],
    ['PATCH', `/api/users/${other.userId}`, { isAdmin: true }],
    ['GET', '/api/system'],
    ['GET', '/api/invitations'],
    ['POST', '/api/account/password', { currentPassword: 'wrong horse battery', newPassword: next }],
    ['POST', '/api/account/password', { currentPassword: password, newPassword: email }],
    ['POST', '/api/account/password', { currentPassword: password, newPassword: next }],
    ['POST', '/api/login', { email, password: 'wrong horse battery' }],
    ['POST', '/api/login', { email: 'nobody@example.com', password }],
    ['POST', '/api/login', { email, password: { of: password } }],
    ['POST', '/trpc/login.create', { json: { email, password: [next] } }],
  ] as [string, string, unknown?][]) {
    answers.push(await browser.request(method, path, { body }))
  }
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(14)
  const { passwordHash } = must(await service.app.store.getUser(userId), 'the user')
  const hash = must(passwordHash, 'a password')

  const onDisk = Buffer.concat([...(await keptBytes(service.dataDir)).values()]).toString('latin1')
  // Shows that the search finds stored values.
  expect([onDisk.includes(hash), onDisk.includes(email)]).toEqual([true, true])
  for (const secret of [...tokens, password, next, 'wrong horse battery']) {
    expect(onDisk.includes(secret), secret).toBe(false)
    expect(onDisk.includes(Buffer.from(secret).toString('base64')), secret).toBe(false)
  }
  const told = JSON.stringify(answers.map(({ body }) => body)) + logged.join('\n')
  for (const secret of [...tokens, password, next, 'wrong horse battery', hash, '$argon2']) {
    expect(told.includes(secret), secret).toBe(false)
  }
  await service.stop()
  expect(logged.join('\n')).not.toMatch(/argon2|horse battery/)
})

test('logs which admin created or revoked a link, but not the link or email address', async () => {
  const logged: [message: string, fields: object][] = []
  const note = (fields: object, message: string) => void logged.push([message, fields])
  const service = await startService({ log: { debug: note, info: note, warn: note, error: note } })
  const { email, userId: adminId } = await service.createPerson({ password, isAdmin: true })
  const { userId } = await service.createPerson({ email: 'grace@example.com' })
  const browser = await Browser.loggedIn(service, { email, password })
  const invited = await browser.post('/api/invitations', { email: 'ada@example.com', isAdmin: true, creditUsd: '2.5' })
  const link = await browser.post(`/api/users/${userId}/password-link`, {})
  const { id: invitationId } = invited.body
  expect((await browser.delete(`/api/invitations/${invitationId}`)).status).toBe(200)
  expect((await browser.delete(`/api/invitations/${invitationId}`)).status).toBe(404)
  expect(logged.filter(([message]) => message.includes('admin'))).toEqual([
    ['an admin invited a user', { adminId, invitationId, isAdmin: true, creditUsd: '2.5000' }],
    ['an admin created a password link', { adminId, userId }],
    ['an admin revoked a link', { adminId, invitationId }],
  ])
  expect([invited.status, link.status]).toEqual([200, 200])
  await service.stop()
})
