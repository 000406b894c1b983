import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openPool } from '../server/store/postgres/connection/database.ts'
import type { PgPool } from '../server/store/postgres/connection/driver.ts'
import type { BenchUser } from './bench-data.ts'
import { startServer, type BenchServer } from './bench-servers.ts'
import { drive, requestBytes, type DriveResult } from './http-driver.ts'

export type Nodes = { servers: BenchServer[]; pool: PgPool; stop: () => Promise<void> }

export async function startNodes(
  databaseUrl: string,
  { roles, env = {} }: { roles: readonly string[]; env?: Record<string, string> },
): Promise<Nodes> {
  const template = mkdtempSync(join(tmpdir(), 'errand-bench-empty-'))
  const servers: BenchServer[] = []
  const shared = { ERRAND_DATABASE_URL: databaseUrl, ERRAND_SECRET: 'of the benchmarks only', ...env }
  // Start the nodes one after the other, because the first node creates the tables.
  for (const role of roles) {
    servers.push(await startServer('errand', { template, env: shared, args: ['--role', role] }))
  }
  rmSync(template, { recursive: true, force: true })
  const pool = openPool(databaseUrl, 1)
  return {
    servers,
    pool,
    stop: async () => {
      await pool.end()
      await Promise.all(servers.map((server) => server.stop()))
    },
  }
}

export function taskRequests(users: readonly BenchUser[]): Buffer[] {
  const body = JSON.stringify({ endpointId: 'bench.noop', params: { n: 1 } })
  return users.map(({ key }) => requestBytes('POST', '/api/tasks', { key, body }))
}

/**
 * Sends requests to all servers simultaneously, over an equal share of the connections each. Throws unless every
 * response has status 200.
 */
export async function driveAll(
  servers: readonly BenchServer[],
  { connections, next }: { connections: number; next: () => Buffer | undefined },
): Promise<DriveResult> {
  const driven = await Promise.all(
    servers.map(async ({ url }) => await drive({ url, connections: connections / servers.length, next })),
  )
  const requests = driven.reduce((sum, part) => sum + part.requests, 0)
  const seconds = Math.max(...driven.map((part) => part.seconds))
  for (const part of driven) {
    if (part.statuses[200] !== part.requests) throw new Error(JSON.stringify(part.statuses))
  }
  const worst = (name: 'p50Ms' | 'p99Ms' | 'maxMs') => Math.max(...driven.map((part) => part[name]))
  const statuses = { 200: requests }
  const latencies = { p50Ms: worst('p50Ms'), p99Ms: worst('p99Ms'), maxMs: worst('maxMs') }
  return { requests, seconds, perSecond: requests / seconds, ...latencies, statuses }
}

/** Returns `count` requests, repeating the given ones in a cycle. */
export function inTurn(requests: readonly Buffer[], count: number, from = 0): () => Buffer | undefined {
  let sent = 0
  return () => (sent < count ? requests[(from + sent++) % requests.length] : undefined)
}

export async function drained(pool: PgPool): Promise<number> {
  const startedAt = performance.now()
  const open = 'SELECT 1 FROM tasks WHERE completed_at IS NULL AND queued IN (0, 1) LIMIT 1'
  while ((await pool.query(open)).rows.length > 0) await sleep(20)
  return (performance.now() - startedAt) / 1000
}
