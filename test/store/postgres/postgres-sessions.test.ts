import { expect, test } from 'vitest'
import { SystemClock } from '../../../server/kernel/clock.ts'
import { openPostgresStore } from '../../../server/store/postgres/postgres-store.ts'
import { sessionTotal } from '../../../server/store/sessions/session-records.ts'
import { withPool } from '../../support/postgres-server.ts'
import { describePostgres, postgresEngine } from '../postgres-engine.ts'
import { describeFiles } from '../contract-files.ts'
import { describeSessions } from '../session-contract.ts'
import type { ContractTest } from '../store-contract.ts'
import { noLimits, openWorld } from '../store-world.ts'

await describePostgres('sessions and chats', (server) => {
  const engine = postgresEngine(server)
  const contractTest: ContractTest = (title, body, { limits = {} } = {}) => {
    test(`${engine.name}: ${title}`, async () => {
      const world = await openWorld(engine, { ...noLimits, ...limits })
      try {
        await body(world)
        expect(await world.verify()).toMatchObject({ ok: true, differences: [] })
      } finally {
        await world.close()
      }
    })
  }
  describeSessions(contractTest)
  describeFiles(contractTest)

  test('PostgreSQL: counts sessions with any search_path', async () => {
    const url = await server.newDatabase()
    const store = await openPostgresStore({
      limits: noLimits,
      databaseUrl: url,
      connectionsMax: 6,
      clock: (notBefore) => new SystemClock(notBefore),
    })
    try {
      await withPool(url, async (pool) => {
        const columns =
          'id, user_id, agent_id, is_completed, metadata, message_count, created_at, updated_at, active_at'
        await pool.query(`SET search_path = '';
          ALTER TABLE public.sessions DROP CONSTRAINT sessions_user_id_users_id_fk;
          INSERT INTO public.sessions (${columns}) VALUES ('ses_0', 'usr_0', 'one', 0, '{}', 0, 0, 0, 0);
          UPDATE public.sessions SET is_completed = 1`)
        const { rows } = await pool.query(
          'SELECT open::float8 AS open, completed::float8 AS completed FROM public.session_totals',
        )
        expect(rows).toEqual([{ open: 0, completed: 1 }])
      })
    } finally {
      await store.close()
      await server.dropDatabase(url)
    }
  })
})

test('a session total is never negative if a session was created between the counts', () => {
  expect(sessionTotal([], { active: 1, status: 'expired' })).toBe(0)
  expect(sessionTotal([{ agentId: 'one', open: 3, completed: 1 }], { active: 1, status: 'expired' })).toBe(2)
})
