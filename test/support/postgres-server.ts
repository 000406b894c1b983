import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { randomBytes } from 'node:crypto'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { resolveLimits } from '../../server/app/config.ts'
import { openPool } from '../../server/store/postgres/connection/database.ts'
import type { PgPool } from '../../server/store/postgres/connection/driver.ts'
import { openPostgresStore } from '../../server/store/postgres/postgres-store.ts'
import { CannotRun } from './test-parts.ts'
import { within } from './until.ts'

export type PostgresServer = {
  /** URL of the server, for `connectPostgres`. */
  url: string
  /** URL of a new database, with the schema unless `isEmpty` is set. */
  newDatabase(options?: { isEmpty?: boolean }): Promise<string>
  dropDatabase(url: string): Promise<void>
  stop(): Promise<void>
}

const guardian = fileURLToPath(new URL('./postgres-guardian.ts', import.meta.url))
const template = 'errand_template'
const startMsMax = 120_000
const stopMsMax = 30_000

/**
 * Starts a server in a temporary folder on a free port, which stops with this process. Throws CannotRun if it cannot
 * start.
 */
export async function startPostgres(settings: Record<string, string> = {}): Promise<PostgresServer> {
  // In its own process group, so that an interrupt from the terminal ends the tests before the server.
  const child = spawn(process.execPath, [guardian, JSON.stringify(settings)], {
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  let log = ''
  child.stderr.on('data', (chunk: Buffer) => (log += chunk.toString()))
  const exited = once(child, 'exit')
  const [line] = (await within(
    'the guardian of PostgreSQL answers',
    startMsMax,
    Promise.race([
      once(createInterface(child.stdout), 'line'),
      exited.then(() => [JSON.stringify({ cause: `its guardian exited: ${log.trim()}` })]),
    ]),
  )) as [string]
  const started = JSON.parse(line) as { port: number } | { cause: string }
  if ('cause' in started) throw new CannotRun('postgres', started.cause)
  const server = connectPostgres(`postgres://postgres:password@127.0.0.1:${started.port}/postgres`)
  const stop = async () => {
    await server.stop()
    child.stdin.end()
    await within('the guardian of PostgreSQL has exited', stopMsMax, exited)
  }
  try {
    const url = await server.newDatabase({ isEmpty: true, name: template })
    // The first store opened on a server creates the objects of the database. Doing that here saves it for all copies.
    await (await openPostgresStore({ databaseUrl: url, limits: resolveLimits({}, {}), connectionsMax: 2 })).close()
  } catch (error) {
    await stop()
    throw error
  }
  return { ...server, stop }
}

type OwnDatabases = Omit<PostgresServer, 'newDatabase'> & {
  newDatabase(options?: { isEmpty?: boolean; name?: string }): Promise<string>
}

/** Creates databases on a server that another process started. `stop` leaves that server running. */
export function connectPostgres(serverUrl: string): OwnDatabases {
  const admin = openPool(serverUrl, 1)
  return {
    url: serverUrl,
    newDatabase: async ({ isEmpty = false, name = `errand_${randomBytes(8).toString('hex')}` } = {}) => {
      // Copying files takes 15 ms in memory. Copying through the WAL takes 30 ms, and the first drop 500 ms.
      await admin.query(`CREATE DATABASE ${name} STRATEGY FILE_COPY ${isEmpty ? '' : `TEMPLATE ${template}`}`)
      const url = new URL(serverUrl)
      url.pathname = name
      return url.href
    },
    dropDatabase: async (url) => {
      await admin.query(`DROP DATABASE IF EXISTS ${new URL(url).pathname.slice(1)} WITH (FORCE)`)
    },
    stop: () => admin.end(),
  }
}

/** Runs `use` with its own connection pool, independent of any store. */
export async function withPool<Result>(url: string, use: (pool: PgPool) => Promise<Result>): Promise<Result> {
  const pool = openPool(url, 1)
  try {
    return await use(pool)
  } finally {
    await pool.end()
  }
}
