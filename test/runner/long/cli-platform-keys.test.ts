import { rmSync } from 'node:fs'
import { expect, test } from 'vitest'
import { runErrand, startProcess } from '../../support/test-process.ts'
import { newDataDir } from '../../support/test-service.ts'
import { ProcessClient } from '../process-client.ts'
import { rogueFile } from '../task-checks.ts'

test("creating or revoking a platform key by command takes effect on the server's next request", async () => {
  const dataDir = newDataDir()
  const server = await startProcess({ dataDir, config: rogueFile })
  const errand = (...args: string[]) => runErrand(['platform-keys', ...args, '--data', dataDir])
  const run = async (...args: string[]) => JSON.parse(await errand(...args, '--json'))
  expect(await errand('list')).toBe('None.\n')
  const options = ['--addresses', '127.0.0.1,10.0.0.0/8', '--credit-per-day-usd', '2.5', '--expires-in-days', '30']
  const created = await run('create', '--name', 'shop', '--scopes', 'users, credit', ...options)
  expect(created).toMatchObject({
    id: expect.stringMatching(/^pkey_/),
    key: expect.stringMatching(/^errand_pk_[0-9A-Za-z]{36}$/),
    expiresAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
  })
  const { id, key } = created
  const client = new ProcessClient(server.url, key)
  expect((await client.get('/api/users')).body.total).toBe(0)
  expect((await client.get('/api/users/by-external-id/nobody')).status).toBe(404)
  expect((await run('list')).keys).toMatchObject([
    { id, name: 'shop', scopes: ['users', 'credit'], addresses: ['127.0.0.1', '10.0.0.0/8'], revokedAt: null },
  ])
  const listed = await errand('list')
  expect(listed).toContain(`users,credit  from 127.0.0.1,10.0.0.0/8  0.0000 of 2.5000 USD today  expires`)
  expect(listed).not.toContain(key)
  expect(await run('revoke', '--key-id', id)).toMatchObject({ id, revokedAt: expect.any(String) })
  expect((await client.get('/api/users')).status).toBe(401)
  expect(await errand('list')).toContain('revoked  shop')

  const elsewhere = await run('create', '--name', 'shop', '--scopes', 'users', '--addresses', '192.0.2.1')
  expect((await new ProcessClient(server.url, elsewhere.key).get('/api/users')).status).toBe(403)
  expect(await server.end('SIGTERM')).toBe(0)
  rmSync(dataDir, { recursive: true, force: true })
})
