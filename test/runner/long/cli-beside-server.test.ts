import { rmSync } from 'node:fs'
import { expect, test } from 'vitest'
import { queryRows } from '../../support/test-engine.ts'
import { runErrand, startProcess } from '../../support/test-process.ts'
import { newDataDir } from '../../support/test-service.ts'
import { besideServer, ProcessClient } from '../process-client.ts'
import { rogueFile } from '../task-checks.ts'

const email = 'cli@example.com'

test('users, credits and keys take effect immediately, with the documented JSON', async () => {
  const dataDir = newDataDir()
  const server = await startProcess({ dataDir, config: rogueFile })
  const run = async (...args: string[]) => {
    const output = await runErrand([...args, '--data', dataDir, '--json'])
    expect(output).toMatch(/^\{.*\}\n$/)
    return JSON.parse(output)
  }
  const user = await run('users', 'create', '--email', 'CLI@example.com', '--password', 'long enough')
  expect(user).toMatchObject({ id: expect.stringMatching(/^user_/), email, balanceUsd: '0.0000' })
  const created = await run('keys', 'create', '--user', email, '--name', 'first', '--expires-in-days', '30')
  expect(created).toMatchObject({
    id: expect.stringMatching(/^key_/),
    name: 'first',
    key: expect.stringMatching(/^errand_sk_[0-9A-Za-z]{36}$/),
    expiresAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
  })
  const client = new ProcessClient(server.url, created.key)
  expect((await client.get('/api/account')).body).toMatchObject({ email, balanceUsd: '0.0000' })
  expect((await client.createTask('rogue.echo')).status).toBe(403)

  const credit = [
    'users',
    'credit',
    '--user',
    email,
    '--amount-usd',
    '0.02',
    '--reason',
    'Start',
    '--idempotency-key',
    'start',
  ]
  const credited = await run(...credit)
  expect(credited).toEqual({
    transactionId: expect.stringMatching(/^txn_/),
    balanceUsd: '0.0200',
  })
  expect(await run(...credit)).toEqual(credited)
  expect(await client.runTask('rogue.echo', { n: 1 })).toMatchObject({ status: 'completed', response: { n: 1 } })
  expect(await run('users', 'credit', '--user', email, '--amount-usd', '-0.005')).toMatchObject({
    balanceUsd: '0.0050',
  })
  expect((await client.get('/api/account')).body.balanceUsd).toBe('0.0050')
  expect((await client.createTask('rogue.echo')).status).toBe(403)

  const readOnly = await run('keys', 'create', '--user', email, '--name', 'reader', '--scopes', 'read')
  expect(readOnly.expiresAt).toBeNull()
  const reader = new ProcessClient(server.url, readOnly.key)
  expect((await reader.get('/api/tasks')).body.total).toBe(1)
  expect((await reader.createTask('rogue.echo')).status).toBe(403)
  expect(await run('keys', 'revoke', '--user', email, '--key-id', created.id)).toMatchObject({
    id: created.id,
    revokedAt: expect.any(String),
  })
  expect((await client.get('/api/account')).status).toBe(401)
  expect((await reader.get('/api/account')).status).toBe(200)
  expect(await run('keys', 'list', '--user', email)).toMatchObject({ keys: [{}, {}], total: 2, limit: 50, offset: 0 })
  expect(await run('users', 'list')).toEqual({
    users: [{ ...user, balanceUsd: '0.0050', spentUsd: '0.0100', activeOn: expect.any(String) }],
    total: 1,
    limit: 50,
    offset: 0,
  })
  const verified = { ok: true, accounts: 1, balanceUsd: '0.0050', transactions: 3, differences: [] }
  expect(await run('ledger', 'verify')).toEqual(verified)
  expect(await server.end('SIGTERM')).toBe(0)
  rmSync(dataDir, { recursive: true })
})

test('unblocking a user admits the next task immediately', async () => {
  const dataDir = newDataDir()
  const server = await startProcess({ dataDir, config: rogueFile, env: { ERRAND_ABUSE_FAILURES: '2' } })
  await runErrand(['users', 'create', '--email', email, '--data', dataDir])
  await runErrand(['users', 'credit', '--user', email, '--amount-usd', '1', '--data', dataDir])
  const { key } = JSON.parse(
    await runErrand(['keys', 'create', '--user', email, '--name', 'a', '--data', dataDir, '--json']),
  )
  const client = new ProcessClient(server.url, key)
  for (let n = 0; n < 2; n++) await client.runTask('rogue.throw', { what: 'error' })
  expect((await client.createTask('rogue.echo')).status).toBe(403)
  const unblock = () => runErrand(['users', 'unblock', '--user', email, '--data', dataDir, '--json'])
  expect(JSON.parse(await unblock())).toMatchObject({ email, blockedUntil: null })
  expect(await client.runTask('rogue.echo')).toMatchObject({ status: 'completed' })
  expect(JSON.parse(await unblock())).toMatchObject({ email, blockedUntil: null })
  await server.end('SIGTERM')
  rmSync(dataDir, { recursive: true })
})

test('ledger verify exits 1 and names the difference after a manual balance change', async () => {
  const dataDir = newDataDir()
  await runErrand(['users', 'create', '--email', email, '--data', dataDir])
  await runErrand(['users', 'credit', '--user', email, '--amount-usd', '5.00', '--data', dataDir])
  expect(await runErrand(['ledger', 'verify', '--data', dataDir])).toBe(
    '1 account, 1 transaction: the ledger is consistent.\n',
  )
  await queryRows(dataDir, 'UPDATE accounts SET balance = balance + 1')
  const verified = await runErrand(['ledger', 'verify', '--data', dataDir, '--json']).catch((error: unknown) => error)
  expect(verified).toMatchObject({ code: 1, stdout: expect.stringMatching(/^\{"ok":false,.*\}\n$/) })
  const { differences } = JSON.parse((verified as { stdout: string }).stdout)
  expect(differences).toContainEqual({
    userId: expect.any(String),
    what: 'the balance equals the sum of the transactions',
    expected: '5.0000',
    actual: '5.0001',
  })
  expect((await besideServer(dataDir, (store) => store.verifyLedger())).ok).toBe(false)
  rmSync(dataDir, { recursive: true })
})
