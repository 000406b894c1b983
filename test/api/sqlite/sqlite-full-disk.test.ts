import type Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { must } from '../../../server/kernel/assert.ts'
import { watchStatements } from '../../store/watch-statements.ts'
import { startService } from '../../support/test-service.ts'
import { readMetrics } from '../exposition.ts'

test('readiness is 503 while the database is not writable and recovers without another write', async () => {
  let connection: Database.Database | undefined
  const service = await watchStatements(
    (of) => (connection ??= of.name.endsWith('errand.db') ? of : undefined),
    () => startService({ limits: { executionsPerMinute: 0, inlineBytes: 500_000 } }),
  )
  const raw = must(connection, 'the store has a connection')
  const { key } = await service.createPerson()
  const pages = (count: number) => raw.pragma(`max_page_count = ${count}`)
  pages(raw.pragma('page_count', { simple: true }) as number)
  const large = { text: 'x'.repeat(200_000) }
  expect((await service.createTask(key, 'test.echo', large)).status).toBe(503)
  // Readiness is about small writes, which may still fit into existing pages.
  const { canWrite } = service.app.store
  const said = (await service.get('/readyz')).status
  expect(said).toBe(200)
  expect(await canWrite()).toBe(true)
  expect((await readMetrics(service)).get('errand_database_commit_failures_total')).toBe(1)
  // Prevents all writes: the file is now read-only for this connection.
  raw.pragma('query_only = 1')
  expect((await service.createTask(key, 'test.echo')).status).toBe(503)
  const ready = await service.get('/readyz')
  expect([ready.status, ready.body.message]).toEqual([503, 'The database is not writable.'])
  expect((await readMetrics(service)).get('errand_database_up')).toBe(0)
  expect((await service.get('/healthz')).status).toBe(200)
  expect((await service.get('/api/account', key)).status).toBe(200)
  raw.pragma('query_only = 0')
  expect((await service.get('/readyz')).status).toBe(200)
  expect((await readMetrics(service)).get('errand_database_up')).toBe(1)
  pages(1_000_000)
  expect((await service.createTask(key, 'test.echo', large)).status).toBe(200)
  await service.stop()
})
