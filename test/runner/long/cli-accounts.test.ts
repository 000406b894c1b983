import { rmSync } from 'node:fs'
import { expect, test } from 'vitest'
import { runErrand, startProcess } from '../../support/test-process.ts'
import { newDataDir } from '../../support/test-service.ts'
import { besideServer, openAccount, ProcessClient } from '../process-client.ts'
import { rogueFile } from '../task-checks.ts'

const email = 'person@example.com'

function commandsOn(dataDir: string) {
  return async (...args: string[]) => JSON.parse(await runErrand([...args, '--data', dataDir, '--json']))
}

test("suspending and resuming a user take effect on the running server's next request", async () => {
  const dataDir = newDataDir()
  const { key } = await openAccount(dataDir)
  const server = await startProcess({ dataDir, config: rogueFile })
  const run = commandsOn(dataDir)
  const client = new ProcessClient(server.url, key)
  expect(await run('users', 'suspend', '--user', email)).toMatchObject({ email, isSuspended: true })
  expect((await client.get('/api/account')).status).toBe(403)
  expect(await run('users', 'resume', '--user', email)).toMatchObject({ email, isSuspended: false })
  expect((await client.get('/api/account')).status).toBe(200)
  const { acts } = await run('audit', 'list', '--user', email, '--action', 'user.updated')
  const byCommand = { actor: 'commandLine', actorId: null, client: null }
  expect(acts).toMatchObject([
    { ...byCommand, change: '{"isSuspended":false}' },
    { ...byCommand, change: '{"isSuspended":true}' },
  ])
  expect(await server.end('SIGTERM')).toBe(0)
  rmSync(dataDir, { recursive: true })
})

test('the last active admin cannot be suspended', async () => {
  const dataDir = newDataDir()
  await runErrand(['users', 'create', '--email', email, '--admin', '--data', dataDir])
  await expect(runErrand(['users', 'suspend', '--user', email, '--data', dataDir])).rejects.toMatchObject({
    code: 1,
    stderr: 'errand: This is the last active admin. Make another user an admin first.\n',
  })
  rmSync(dataDir, { recursive: true })
})

test('finds a user by id, email or external id unless that matches two users', async () => {
  const dataDir = newDataDir()
  const { userId } = await openAccount(dataDir)
  const open = (externalId: string) =>
    besideServer(dataDir, async (store) => {
      const opened = await store.platform.openUser({ externalId, email: null, keyId: null })
      if (opened.outcome === 'refused') throw new Error('not created')
      return opened.userId
    })
  const customer = await open('Customer 1')
  const run = commandsOn(dataDir)
  const show = async (user: string): Promise<string> => (await run('users', 'show', '--user', user)).id
  expect(await show(userId)).toBe(userId)
  expect(await show('PERSON@example.com')).toBe(userId)
  expect(await show('Customer 1')).toBe(customer)
  expect(await run('users', 'credit', '--user', 'Customer 1', '--amount-usd', '1')).toMatchObject({
    balanceUsd: '1.0000',
  })
  const { acts } = await run('audit', 'list', '--user', 'Customer 1')
  expect(new Set(acts.map((act: { userId: string }) => act.userId))).toEqual(new Set([customer]))
  await expect(show('customer 1')).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining('NOT_FOUND') })

  const namesake = await open(email)
  await expect(show(email)).rejects.toMatchObject({ code: 1, stderr: expect.stringMatching(`${userId}.*${namesake}`) })
  expect(await show(namesake)).toBe(namesake)
  // An external id cannot take another user's id.
  await open(userId)
  expect(await show(userId)).toBe(userId)
  rmSync(dataDir, { recursive: true })
})

test("lists a user's tasks and transactions page by page, like the API", async () => {
  const dataDir = newDataDir()
  const { key } = await openAccount(dataDir)
  const server = await startProcess({ dataDir, config: rogueFile })
  const run = commandsOn(dataDir)
  const client = new ProcessClient(server.url, key)
  for (let n = 0; n < 3; n++) await client.runTask('rogue.echo', { n })
  await client.runTask('rogue.throw', { what: 'error' })
  for (const list of ['tasks', 'transactions'] as const) {
    const { body } = await client.get(`/api/${list}`)
    const first = await run('users', list, '--user', email, '--limit', '3')
    expect(first).toMatchObject({ total: body.total, limit: 3, next: expect.any(String) })
    const second = await run('users', list, '--user', email, '--after', first.next)
    expect([...first[list], ...second[list]]).toEqual(body[list])
    const lines = await runErrand(['users', list, '--user', email, '--limit', '3', '--data', dataDir])
    expect(lines).toContain(`${body.total} in all; next page: --after ${first.next}\n`)
    const last = await runErrand(['users', list, '--user', email, '--after', first.next, '--data', dataDir])
    expect(last).not.toContain('next page')
  }
  const failed = await run('users', 'tasks', '--user', email, '--status', 'failed')
  expect(failed).toMatchObject({ total: 1, tasks: [{ endpointId: 'rogue.throw' }] })
  const refunds = await run('users', 'transactions', '--user', email, '--type', 'task_refund')
  expect(refunds.transactions).toMatchObject([{ taskId: failed.tasks[0].id }])
  expect(await server.end('SIGTERM')).toBe(0)
  rmSync(dataDir, { recursive: true })
})

test('a rotated key works during the overlap and not after it', async () => {
  const dataDir = newDataDir()
  const { key } = await openAccount(dataDir)
  const server = await startProcess({ dataDir, config: rogueFile })
  const run = commandsOn(dataDir)
  const statusOf = async (of: string) => (await new ProcessClient(server.url, of).get('/api/account')).status
  const { keys } = await run('keys', 'list', '--user', email)
  const second = await run('keys', 'rotate', '--user', email, '--key-id', keys[0].id, '--overlap-seconds', '600')
  expect(second).toMatchObject({
    name: keys[0].name,
    scopes: keys[0].scopes,
    key: expect.stringMatching(/^errand_sk_/),
  })
  expect([await statusOf(key), await statusOf(second.key)]).toEqual([200, 200])
  const third = await run('keys', 'rotate', '--user', email, '--key-id', second.id, '--overlap-seconds', '0')
  expect([await statusOf(key), await statusOf(second.key), await statusOf(third.key)]).toEqual([200, 401, 200])
  const live = await run('keys', 'list', '--user', email, '--state', 'live', '--limit', '1')
  expect(live).toMatchObject({ keys: [{ id: third.id }], total: 2, limit: 1, offset: 0 })
  expect(await server.end('SIGTERM')).toBe(0)
  rmSync(dataDir, { recursive: true })
})
