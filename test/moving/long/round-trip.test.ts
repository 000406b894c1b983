import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Browser, password } from '../../api/browser-login.ts'
import { expectStatus } from '../../api/signed-in.ts'
import { startStubMcpServer } from '../../api/stub-mcp-server.ts'
import { describePostgres } from '../../store/postgres-engine.ts'
import { withPool } from '../../support/postgres-server.ts'
import { runErrand } from '../../support/test-process.ts'
import { newDataDir, startService } from '../../support/test-service.ts'
import { chat, fill, keyedHeaders, limits, look, longText, secrets } from '../filled-installation.ts'
import { killImport, rowsOf, usersIn } from '../transfer-runs.ts'

/** Verifies the ledger of an installation. */
const verified = async (args: string[], env: Record<string, string> = {}) =>
  (JSON.parse(await runErrand(['ledger', 'verify', '--json', ...args], env)) as { ok: boolean }).ok

await describePostgres('export and import', (server) => {
  test('all rows survive the transfer from SQLite to PostgreSQL and back; a killed import leaves no data', async () => {
    const dataDir = newDataDir()
    const mcp = await startStubMcpServer()
    const { filled, seen } = await fill(dataDir, mcp)
    const { blocked, busy, cutOff, rich } = filled
    const first = join(dataDir, 'first.ndjson')
    const exported = JSON.parse(await runErrand(['export', first, '--data', dataDir, '--json']))
    expect(exported.rows).toMatchObject({
      users: 4,
      accounts: 4,
      tasks: 18,
      turns: 3,
      sessions: 2,
      messages: 4,
      connectors: 2,
      connector_grants: 1,
      idempotency_keys: 1,
      payloads: 4,
      transactions: 3 + 18 + 4 + 2,
    })

    // Kills an import on both engines, and then imports completely.
    const databaseUrl = await server.newDatabase({ isEmpty: true })
    const onPostgres = { ERRAND_DATABASE_URL: databaseUrl }
    const back = newDataDir()
    await killImport(first, ['--data', back])
    expect(await usersIn(['--data', back])).toEqual([])
    await killImport(first, [], onPostgres)
    expect(await usersIn([], onPostgres)).toEqual([])
    expect(JSON.parse(await runErrand(['import', first, '--json'], onPostgres))).toEqual({
      rows: exported.rows,
      sha256: exported.sha256,
    })
    expect(await verified([], onPostgres)).toBe(true)

    // Moves the installation back to SQLite.
    const second = join(dataDir, 'second.ndjson')
    await runErrand(['export', second], onPostgres)
    expect(rowsOf(second)).toEqual(rowsOf(first))
    await runErrand(['import', second, '--data', back])
    expect(await verified(['--data', back])).toBe(true)
    const third = join(dataDir, 'third.ndjson')
    await runErrand(['export', third, '--data', back])
    expect(rowsOf(third)).toEqual(rowsOf(first))
    await runErrand(['export', '--undo'], onPostgres)
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

    // Links, idempotency keys, secrets, logins and invitations still work.
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
    // Pending webhook deliveries are sent, signed with the same secret.
    const ofWebhook = `/api/webhooks/${filled.webhookId}`
    const { deliveries } = (await service.get(`${ofWebhook}/deliveries`, rich.key)).body
    expect(deliveries).toMatchObject([{ type: 'task.failed', status: 'pending' }])
    const tested = await expectStatus(200, service.post(`${ofWebhook}/test`, {}, { key: rich.key }))
    expect(tested).toMatchObject({
      status: 'failed',
      error: 'The endpoint refused the connection. Check that it is running.',
    })
    const browser = new Browser(service)
    for (const [name, value] of filled.cookies) browser.cookies.set(name, value)
    expect((await browser.get('/api/account')).body.email).toBe(rich.email)
    await Browser.loggedIn(service, { email: rich.email, password })
    const accepted = { token: filled.invitation, password }
    await expectStatus(200, new Browser(service).post('/api/invitations/accept', accepted))
    expect((await service.createTask(blocked.key, 'test.echo')).status).toBe(403)

    // Interrupted work was refunded, retried, or is run now. The chat was closed without a charge.
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
    for (const folder of [dataDir, back]) rmSync(folder, { recursive: true })
  }, 240_000)
})
