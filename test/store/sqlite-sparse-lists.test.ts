import { expect, test } from 'vitest'
import { withRaw } from '../support/test-engine.ts'
import { startService } from '../support/test-service.ts'
import { sessionAgents } from '../api/session-calls.ts'

// Lists with a filter that few rows match are read in pieces until the page is full.

const rows = 3000
const every = 700
const numbers = `WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ${rows})`

test('selective filters list each match once, by offset and by cursor, with the total', async () => {
  const service = await startService({ config: sessionAgents })
  const { key, userId } = await service.createPerson({ balanceUsd: '1' })
  const now = Date.now()
  await withRaw(service.dataDir, async (raw) => {
    await raw.query(`INSERT INTO sessions (id, user_id, agent_id, is_completed, metadata, message_count, created_at, updated_at, active_at)
      ${numbers} SELECT 'ses_' || n, '${userId}', 'one', CASE WHEN n % ${every} = 0 THEN 1 ELSE 0 END, '{}', 2, n, n, ${now} FROM n`)
    await raw.query(`INSERT INTO transactions (id, user_id, type, amount, balance_after, description, created_at)
      ${numbers} SELECT 'txn_' || n, '${userId}', CASE WHEN n % ${every} = 0 THEN 'chat_charge' ELSE 'task_charge' END, -1, 1, '', n FROM n`)
    await raw.query(`INSERT INTO counters (user_id, kind, part, status, count)
      VALUES ('${userId}', 'transaction', 'chat_charge', '', 4), ('${userId}', 'transaction', 'task_charge', '', ${rows - 4})`)
  })
  const expected = [2800, 2100, 1400, 700]
  for (const { list, prefix } of [
    { list: 'sessions?status=completed', prefix: 'ses' },
    { list: 'transactions?type=chat_charge', prefix: 'txn' },
  ]) {
    const name = list.split('?')[0]!
    const read = async (more: string) => {
      const { body, status } = await service.get(`/api/${list}${more}`, key)
      expect([status, body.total]).toEqual([200, 4])
      return { ids: body[name].map(({ id }: { id: string }) => id), next: body.next as string | undefined }
    }
    const all = expected.map((n) => `${prefix}_${n}`)
    expect(await read('')).toEqual({ ids: all, next: undefined })
    expect((await read('&limit=2&offset=1')).ids).toEqual(all.slice(1, 3))
    expect((await read('&limit=2&offset=3')).ids).toEqual(all.slice(3))
    expect((await read('&offset=4')).ids).toEqual([])
    const first = await read('&limit=3')
    expect(first.ids).toEqual(all.slice(0, 3))
    expect((await read(`&limit=3&after=${first.next}`)).ids).toEqual(all.slice(3))
  }
  let turns = 0
  let isOver = false
  const count = () => void (isOver || (turns++, setImmediate(count)))
  count()
  await service.app.store.listTransactions({ userId, type: 'chat_charge', limit: 10, offset: 0 })
  isOver = true
  expect(turns, 'turns of the event loop between the pieces').toBeGreaterThan(2)
  const { body } = await service.get('/api/transactions?type=task_refund', key)
  expect(body).toMatchObject({ transactions: [], total: 0 })
  const ofOther = await service.get('/api/sessions?agentId=two', key)
  expect(ofOther.body).toMatchObject({ sessions: [], total: 0 })
  await service.stop()
})
