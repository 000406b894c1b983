import { expect, test } from 'vitest'
import { createClient } from '../../../client/client.ts'
import { startService } from '../../support/test-service.ts'
import { Browser, password } from '../browser-login.ts'
import { PlatformCalls } from '../platform-calls.ts'

test('admins see logins, failed logins and changes with actor and address, also as CSV', async () => {
  const service = await startService()
  const admin = await service.createPerson({ password, isAdmin: true })
  const person = await service.createPerson({ password })
  const wrong = { email: person.email, password: 'not this one' }
  const unknown = { email: 'nobody@example.com', password }
  for (const body of [wrong, unknown]) {
    expect((await new Browser(service).logIn(body)).status).toBe(401)
  }
  const browser = await Browser.loggedIn(service, { email: admin.email, password })
  const suspended = await browser.request('PATCH', `/api/users/${person.userId}`, { body: { isSuspended: true } })
  expect(suspended.status).toBe(200)
  const get = (path: string) => browser.request('GET', path)
  const { acts } = (await get(`/api/admin/audit?userId=${person.userId}`)).body
  expect(acts.slice(0, 2)).toMatchObject([
    {
      action: 'user.updated',
      actor: 'user',
      actorId: admin.userId,
      client: '127.0.0.1',
      change: '{"isSuspended":true}',
    },
    { action: 'login.failed', actor: 'visitor', actorId: null, client: '127.0.0.1', change: '{}' },
  ])
  const all = (await get('/api/admin/audit')).body
  expect(all.acts.filter(({ action }: { action: string }) => action === 'login.failed')).toHaveLength(1)
  expect(all.acts.some(({ action, userId }: any) => action === 'login.created' && userId === admin.userId)).toBe(true)
  const first = (await get('/api/admin/audit?limit=2')).body
  const second = (await get(`/api/admin/audit?limit=2&after=${first.next}`)).body
  expect([...first.acts, ...second.acts]).toEqual(all.acts.slice(0, 4))
  expect((await get('/api/admin/audit?after=abc')).status).toBe(400)
  expect((await get('/api/admin/audit?action=unknown')).status).toBe(400)
  expect((await service.get('/api/admin/audit', admin.key)).status).toBe(403)
  const key = await service.createKey(person.userId)
  const client = createClient({ baseUrl: service.url, apiKey: key })
  await expect(client.audit.list({})).rejects.toMatchObject({ status: 403 })
  const headers = { Accept: 'text/csv' }
  const csv = await fetch(`${service.url}/api/admin/audit?limit=1&action=login.failed`, {
    headers: { ...headers, Cookie: browser.cookieHeader },
  })
  const [columns, row] = (await csv.text()).split(/\r?\n/)
  expect(columns).toBe('seq,createdAt,action,actor,actorId,client,userId,change')
  expect(row).toMatch(new RegExp(`^\\d+,[-\\dT:.]+Z,login\\.failed,visitor,,127\\.0\\.0\\.1,${person.userId},`))

  expect((await new Browser(service).logIn({ email: person.email, password })).status).toBe(403)
  const failures = (await get(`/api/admin/audit?userId=${person.userId}&action=login.failed`)).body.acts
  expect(failures).toHaveLength(2)
  const platform = await PlatformCalls.open(service)
  const userId = await platform.newUser('customer-1')
  const made = (await get(`/api/admin/audit?userId=${userId}`)).body.acts
  expect(made).toMatchObject(
    ['balance.changed', 'user.created'].map((action) => ({ action, actor: 'platformKey', actorId: platform.keyId })),
  )
  expect(await service.app.store.verifyLedger()).toMatchObject({ ok: true })
  await service.stop()
})
