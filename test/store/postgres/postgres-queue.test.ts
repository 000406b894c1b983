import { expect, test } from 'vitest'
import { take } from '../../../server/store/postgres/nodes/take-tasks.ts'
import { openPostgresStore } from '../../../server/store/postgres/postgres-store.ts'
import type { PgPool } from '../../../server/store/postgres/connection/driver.ts'
import { withPool } from '../../support/postgres-server.ts'
import { describePostgres } from '../postgres-engine.ts'
import { noLimits } from '../store-world.ts'

const tasks = 20_000

type Plan = { 'Index Name'?: string; 'Relation Name'?: string; 'Node Type': string; Plans?: Plan[] }

await describePostgres('the queue of nodes that share a database', (server) => {
  /** Returns the indexes and tables that the statement for taking tasks reads. */
  async function readsOf(pool: PgPool, mode: string): Promise<string[]> {
    await pool.query(`SET plan_cache_mode = ${mode}; DEALLOCATE ALL`)
    await pool.query(`PREPARE taking AS ${take.text}`)
    const { rows } = await pool.query(`EXPLAIN (FORMAT JSON) EXECUTE taking (NULL, 'user_5', 16, '{user_7}', 20000)`)
    const nodes: Plan[] = []
    const walk = (plan: Plan) => {
      nodes.push(plan)
      plan.Plans?.forEach(walk)
    }
    walk((rows as { 'QUERY PLAN': { Plan: Plan }[] }[])[0]!['QUERY PLAN'][0]!.Plan)
    expect(nodes.filter((node) => node['Node Type'] === 'Seq Scan')).toEqual([])
    return nodes.flatMap((node) => node['Index Name'] ?? [])
  }

  test.for([1, 10, 10_000])(
    'with %i users, taking tasks reads only queue entries and the chosen tasks',
    async (users) => {
      const url = await server.newDatabase()
      const store = await openPostgresStore({ databaseUrl: url, limits: noLimits, connectionsMax: 2 })
      try {
        await withPool(url, async (pool) => {
          await pool.query(`INSERT INTO users (id, email, is_admin, created_at)
          SELECT 'user_' || n, n || '@example.com', 0, 1 FROM generate_series(1, ${users}) AS n`)
          await pool.query(`INSERT INTO tasks (id, user_id, agent_id, endpoint_id, status, queued, attempt, cost, request, created_at)
          SELECT 'task_' || n, 'user_' || (n % ${users}) + 1, 'a', 'a.b', 'pending', 1, 0, 0, '{}', 1
          FROM generate_series(1, ${tasks}) AS n`)
          for (const analyze of [false, true]) {
            if (analyze) await pool.query('ANALYZE')
            for (const mode of ['force_custom_plan', 'force_generic_plan']) {
              const reads = await readsOf(pool, mode)
              expect(reads.filter((name) => name === 'tasks_waiting').length).toBeGreaterThanOrEqual(3)
              // By key, the statement reads only the tasks that it takes.
              expect(
                reads.filter((name) => name !== 'tasks_waiting'),
                mode,
              ).toEqual(['tasks_pkey'])
            }
          }
        })
      } finally {
        await store.close()
        await server.dropDatabase(url)
      }
    },
  )
})
