import { rmSync } from 'node:fs'
import { expect, test } from 'vitest'
import { fillYear } from '../../../../bench/year-old.ts'
import { must } from '../../../../server/kernel/assert.ts'
import { parseUsd } from '../../../../server/kernel/money.ts'
import { signIn } from '../../../api/signed-in.ts'
import testAgents from '../../../support/test-agents.ts'
import { storedPayloads } from '../../../support/stored-payloads.ts'
import { engine, queryRows } from '../../../support/test-engine.ts'
import { newDataDir, startService, type TestService } from '../../../support/test-service.ts'
import { unlimited } from '../../task-checks.ts'

const dayMs = 86_400_000
const retention = { tasksDays: 90, sessionsDays: 30 }
const submitters = 8

/** Returns the first and the last day of each of the last eleven full months. */
function oldMonths(): { from: string; to: string }[] {
  const now = new Date()
  const startOf = (monthsAgo: number) => Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - monthsAgo)
  const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10)
  return Array.from({ length: 11 }, (_, n) => ({ from: dayOf(startOf(n + 1)), to: dayOf(startOf(n) - dayMs) }))
}

async function statementsOf(service: TestService, adminId: string): Promise<any[]> {
  const browser = await signIn(service, adminId)
  const months = oldMonths().map(({ from, to }) =>
    browser.get(`/api/admin/economics?from=${from}&to=${to}&groupBy=user`),
  )
  return (await Promise.all(months)).map(({ body }) => body)
}

/** Returns what the ledger says that a month's tasks and chats earned, by user. */
async function earnedIn(dataDir: string, { from, to }: { from: string; to: string }): Promise<[string, number][]> {
  const rows = await queryRows(
    dataDir,
    `SELECT user_id, -sum(amount) AS earned FROM transactions
      WHERE created_at >= ${Date.parse(from)} AND created_at < ${Date.parse(to) + dayMs}
        AND (type IN ('task_charge', 'chat_charge', 'task_refund') OR type = 'adjustment' AND task_id IS NOT NULL)
      GROUP BY user_id ORDER BY user_id`,
  )
  return rows.map(({ earned, user_id: userId }) => [String(userId), Number(earned)])
}

test('a year-old installation is pruned while it serves: requests succeed, and the ledger and old statements stay', async () => {
  const dataDir = newDataDir()
  const people = await fillYear({ dataDir, databaseUrl: await engine().databaseUrl(dataDir), tasks: 1000, days: 52 })
  const service = await startService({ dataDir, config: { ...testAgents, retention }, limits: unlimited })
  const { payloads, store } = service.app.services.tasks
  const adminId = people[0]!.userId
  const count = async (from: string) => Number((await queryRows(dataDir, `SELECT count(*) AS n FROM ${from}`))[0]!['n'])
  const rowsOf = (table: string) => queryRows(dataDir, `SELECT * FROM ${table} ORDER BY seq`)
  const [ledger, acts] = [await rowsOf('transactions'), await rowsOf('audit_log')]
  const statements = await statementsOf(service, adminId)
  const tasksUntil = Date.now() - retention.tasksDays * dayMs
  const sessionsUntil = Date.now() - retention.sessionsDays * dayMs
  expect(await count(`tasks WHERE completed_at < ${tasksUntil}`)).toBeGreaterThan(500)
  const newer = `tasks WHERE completed_at >= ${tasksUntil} AND request <> '{}'`
  const newerBefore = await count(newer)
  expect(newerBefore).toBeGreaterThan(200)

  let isPruned = false
  const submitted: { id: string; key: string }[] = []
  const submit = async ({ key }: { key: string }) => {
    while (!isPruned) {
      const { body, status } = await service.post('/api/tasks', { endpointId: 'test.echo', params: {} }, { key })
      expect(status).toBe(200)
      submitted.push({ id: body.taskId, key })
    }
  }
  const submitting = Promise.all(people.slice(0, submitters).map(submit))
  while (await store.prune()) continue
  isPruned = true
  await submitting
  for (const { id, key } of submitted) {
    expect((await service.get(`/api/tasks/${id}?wait=20`, key)).body).toMatchObject({
      status: 'completed',
      request: {},
    })
  }
  expect(submitted.length).toBeGreaterThan(submitters)

  const contents = `pruned_at IS NULL OR request <> '{}' OR response IS NOT NULL OR error_message IS NOT NULL
    OR request_payload IS NOT NULL OR response_payload IS NOT NULL`
  expect(await count(`tasks WHERE completed_at < ${tasksUntil} AND (${contents})`)).toBe(0)
  expect(await count(newer)).toBe(newerBefore)
  expect(await count(`sessions WHERE active_at < ${sessionsUntil}`)).toBe(0)
  expect(await count(`messages WHERE created_at < ${sessionsUntil}`)).toBe(0)
  expect(await count('messages')).toBeGreaterThan(10)
  await payloads.collectOrphans(-5000, async (id) => (await store.findPayload(id)) !== undefined)
  const kept = (await queryRows(dataDir, 'SELECT id FROM payloads')).map(({ id }) => String(id))
  expect((await storedPayloads(dataDir).ids()).toSorted()).toEqual(kept.toSorted())
  expect(kept.length).toBeGreaterThan(2)
  const [oldest] = await queryRows(
    dataDir,
    `SELECT id, user_id FROM tasks WHERE error_code IS NOT NULL ORDER BY seq LIMIT 1`,
  )
  const owner = must(
    people.find(({ userId }) => userId === oldest!['user_id']),
    'the oldest task has an owner',
  )
  expect((await service.get(`/api/tasks/${String(oldest!['id'])}`, owner.key)).body).toMatchObject({
    status: 'failed',
    error: { code: 'AGENT_ERROR', message: '' },
    costUsd: '0.0100',
    prunedAt: expect.stringMatching(/Z$/),
  })

  expect((await rowsOf('transactions')).slice(0, ledger.length)).toEqual(ledger)
  expect((await rowsOf('audit_log')).slice(0, acts.length)).toEqual(acts)
  expect(await store.verifyLedger()).toMatchObject({ ok: true, differences: [] })
  const after = await statementsOf(service, adminId)
  expect(after).toEqual(statements)
  for (const [n, month] of oldMonths().entries()) {
    const earned = after[n].groups.map(({ revenueUsd, value }: any) => [value, parseUsd(revenueUsd)])
    expect(earned.toSorted()).toEqual(await earnedIn(dataDir, month))
    expect(earned.length).toBeGreaterThan(0)
  }
  await service.stop()
  await engine().remove(dataDir)
  rmSync(dataDir, { recursive: true })
}, 200_000)
