import { createHash } from 'node:crypto'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Browser, password } from '../api/browser-login.ts'
import { expectStatus } from '../api/signed-in.ts'
import { startStubMcpServer } from '../api/stub-mcp-server.ts'
import { ofTier } from '../run/tiers.ts'
import { describePostgres } from '../store/postgres-engine.ts'
import { withPool } from '../support/postgres-server.ts'
import { runErrand } from '../support/test-process.ts'
import { newDataDir, startService } from '../support/test-service.ts'
import { HeldInserts } from './held-inserts.ts'
import { chat, fill, keyedHeaders, limits, look, longText, secret, secrets } from './filled-installation.ts'

/** Tables with rows of the moved installation, in write order. */
const writtenTables = [
  'payload_parts',
  'users',
  'accounts',
  'api_keys',
  'logins',
  'login_attempts',
  'invitations',
  'connectors',
  'sessions',
  'messages',
  'turns',
  'tasks',
  'transactions',
  'counters',
  'idempotency_keys',
  'payloads',
  'settings',
]

const errorOf = ({ stderr }: { stderr: string }) => stderr
const digestOf = (file: string) => createHash('sha256').update(readFileSync(file)).digest('hex')

await describePostgres('an installation is moved', (server) => {
  test('after kills at every table all that users had is theirs on PostgreSQL, and what was cut off is settled there', async () => {
    const dataDir = newDataDir()
    const mcp = await startStubMcpServer()
    const { filled, seen } = await fill(dataDir, mcp)
    const { blocked, busy, cutOff, rich } = filled
    const files = ['errand.db', 'errand.db-wal'].map((name) => join(dataDir, name))
    const before = files.map(digestOf)
    const databaseUrl = await server.newDatabase()
    const env = { ERRAND_SECRET: secret }
    const args = ['migrate-to', databaseUrl, '--data', dataDir, '--json']
    const killedTables = ofTier(['accounts', 'transactions'], writtenTables)
    await withPool(databaseUrl, async (pool) => {
      const held = await HeldInserts.install(pool, writtenTables)
      for (const table of killedTables) {
        await held.killAt(table, { args, env })
        const served = await runErrand(['users', 'list'], { ERRAND_DATABASE_URL: databaseUrl }).catch(errorOf)
        expect(served).toMatch(/^errand: `errand migrate-to` is filling this database.*\n$/)
        expect(files.map(digestOf)).toEqual(before)
      }
      await held.remove()
    })
    const moved = JSON.parse(await runErrand(args, env))
    expect(files.map(digestOf)).toEqual(before)
    expect(moved).toMatchObject({
      ok: true,
      accounts: 4,
      queuedTasks: 4,
      secretFile: null,
      payloads: { count: 4, damaged: [] },
      tables: {
        users: 4,
        tasks: 18,
        turns: 3,
        sessions: 2,
        messages: 4,
        connectors: 2,
        connector_grants: 1,
        idempotency_keys: 1,
      },
    })
    expect(moved.tables.transactions).toBe(3 + 18 + 4 + 2)
    const queued = await withPool(databaseUrl, (pool) =>
      pool.query(`SELECT id FROM tasks WHERE queued = 1 AND status = 'pending' ORDER BY seq`),
    )
    expect(queued.rows).toEqual(cutOff.pending.map((id) => ({ id })))

    const service = await startService({ dataDir, databaseUrl, secrets, limits, privateHosts: ['127.0.0.1'] })
    expect(await look(service, filled)).toEqual(seen)
    const tasks = (await service.get('/api/tasks?status=completed', rich.key)).body
    const texts = await Promise.all(
      tasks.tasks.map(async ({ id }: { id: string }) => {
        const { responseUri } = (await service.get(`/api/tasks/${id}`, rich.key)).body
        return responseUri && (await (await fetch(responseUri)).json())
      }),
    )
    expect(texts).toContain(longText)

    // Links, idempotency keys, secrets, logins and invitations.
    const link = await service.get(filled.link.path)
    expect([link.status, JSON.stringify(link.body)]).toEqual([200, filled.link.content])
    const replayed = await service.post('/api/tasks', filled.keyed.body, { key: rich.key, headers: keyedHeaders })
    expect(replayed.body.taskId).toBe(filled.keyed.taskId)
    const other = { endpointId: 'test.echo', params: { keyed: false } }
    expect((await service.post('/api/tasks', other, { key: rich.key, headers: keyedHeaders })).status).toBe(409)
    mcp.seen.length = 0
    const signedIn = { userId: rich.userId, connectorId: filled.signedInId }
    const { tokens } = service.app.services.connectors.signIns
    expect(await tokens.tokenFor(signedIn)).toMatchObject({ token: 'the-access-token' })
    const checked = service.post(`/api/connectors/${filled.connectorId}/test`, {}, { key: rich.key })
    expect(await expectStatus(200, checked)).toMatchObject({ status: 'ok' })
    expect(mcp.seen[0]?.authorization).toBe('Bearer token-of-rich')
    // Pending webhook deliveries, and their signing secret.
    const ofWebhook = `/api/webhooks/${filled.webhookId}`
    const { deliveries } = (await service.get(`${ofWebhook}/deliveries`, rich.key)).body
    expect(deliveries).toMatchObject([{ type: 'task.failed', status: 'pending' }])
    const tested = await expectStatus(200, service.post(`${ofWebhook}/test`, {}, { key: rich.key }))
    expect(tested).toMatchObject({ status: 'failed', error: 'The endpoint refused the connection.' })
    const browser = new Browser(service)
    for (const [name, value] of filled.cookies) browser.cookies.set(name, value)
    expect((await browser.get('/api/account')).body.email).toBe(rich.email)
    await Browser.loggedIn(service, { email: rich.email, password })
    const accepted = { token: filled.invitation, password }
    await expectStatus(200, new Browser(service).post('/api/invitations/accept', accepted))
    expect((await service.createTask(blocked.key, 'test.echo')).status).toBe(403)

    // Interrupted work: refunded, retried, or run now. The chat is closed without a charge.
    const ends = async () => {
      const ids = [cutOff.processing, cutOff.retried, ...cutOff.pending]
      const read = ids.map(async (id) => (await service.get(`/api/tasks/${id}`, busy.key)).body)
      return (await Promise.all(read)).map(({ error, status }) => error?.code ?? status)
    }
    const settled = ['AGENT_INTERRUPTED', ...Array<string>(5).fill('completed')]
    await expect.poll(ends, { timeout: 40_000 }).toEqual(settled)
    const talk = () => chat(service, { key: busy.key, sessionId: cutOff.sessionId, message: 'Again' })
    expect(await talk()).toContain('You said: Again')
    const { balanceUsd, heldUsd } = (await service.get('/api/account', busy.key)).body
    const charged = (await service.get('/api/transactions?type=chat_charge', busy.key)).body.transactions
    expect(charged).toHaveLength(1)
    expect([Number(balanceUsd) - Number(charged[0].amountUsd), heldUsd]).toEqual([4.95, '0.0000'])

    // New rows follow the copied ones.
    await service.runTask(rich.key, 'test.echo', { after: true })
    const [newest] = (await service.get('/api/transactions', rich.key)).body.transactions
    expect(newest.type).toBe('task_charge')
    expect((await service.get('/api/tasks', rich.key)).body.total).toBe(10)
    expect(await service.app.store.verifyLedger()).toMatchObject({ ok: true })
    await service.stop()
    await mcp.stop()
    rmSync(dataDir, { recursive: true })
  }, 240_000)
})
