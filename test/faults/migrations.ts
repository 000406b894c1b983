import { cpSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { databaseFile } from '../../server/store/sqlite/database.ts'
import { nextVersionEnv } from '../support/next-version.ts'
import { startProcess } from '../support/test-process.ts'
import { newDataDir } from '../support/test-service.ts'
import { FaultDatabase } from './fault-database.ts'
import { checkRows, unlimited } from './fault-invariants.ts'
import { FaultLoad } from './fault-load.ts'
import { databaseEnv, openAccountAt } from './fault-place.ts'
import { reportOn, type FaultOptions, type FaultReport, type Tally } from './fault-report.ts'
import { PostgresRows } from './postgres-rows.ts'
import { countRows, dataDirOf, readPlace, type Place, type RowSource } from './row-source.ts'
import { demand, demandEqual } from '../support/until.ts'

const killer = fileURLToPath(new URL('./kill-at-statement.ts', import.meta.url))
const env = { ...unlimited, ERRAND_LOG_LEVEL: 'error', ERRAND_AGENT_THREADS: '1' }

type Places = {
  /** Creates a place without a database, or with a copy of the database of `from`. */
  create(from?: Place): Promise<Place>
  remove(place: Place): Promise<void>
}

/**
 * Creates one database and migrates another to the next version, killing the server at up to `times` statements of
 * each. Also checks that a database of a newer version is rejected.
 */
export function run(options: FaultOptions): Promise<FaultReport> {
  return reportOn('migrations', options, (tally) => killMigrations(tally, options, folders))
}

/** Like `run`, on PostgreSQL, where a statement of a killed server can still be running. */
export function runPostgres(options: FaultOptions): Promise<FaultReport> {
  return reportOn('migrations-postgres', options, async (tally) => {
    const server = await FaultDatabase.start({ isDurable: false })
    try {
      await killMigrations(tally, options, placesOn(server))
    } finally {
      await server.stop()
    }
  })
}

const folders: Places = {
  create: async (from) => {
    const dataDir = newDataDir()
    if (from) cpSync(dataDirOf(from), dataDir, { recursive: true })
    return dataDir
  },
  remove: async (place) => rmSync(dataDirOf(place), { recursive: true }),
}

const placesOn = (server: FaultDatabase): Places => ({
  create: async (from) => ({
    dataDir: newDataDir(),
    databaseUrl: await server.newDatabase(typeof from === 'object' ? from.databaseUrl : undefined),
  }),
  remove: async (place) => {
    await folders.remove(place)
    if (typeof place === 'object') await server.dropDatabase(place.databaseUrl)
  },
})

async function killMigrations(tally: Tally, { times }: FaultOptions, places: Places): Promise<void> {
  const [empty, current, next] = [await places.create(), await places.create(), await places.create()]
  await start(current)
  await openAccountAt(current, 'person@example.com', 10_000)
  await start(next, nextVersionEnv)
  const creating = { from: empty, schema: await schemaOf(current), version: {}, users: 0 }
  tally.notes.push(`creating: ${await killEach(tally, { ...creating, places, times })}`)
  const migrating = { from: current, schema: await schemaOf(next), version: nextVersionEnv, users: 1 }
  tally.notes.push(`migrating: ${await killEach(tally, { ...migrating, places, times })}`)
  await tally.attempt('a newer schema', () => refuseNewer(next))
  for (const used of [empty, current, next]) await places.remove(used)
}

type Migration = {
  from: Place
  /** The expected schema. */
  schema: unknown
  version: Record<string, string>
  users: number
  places: Places
  times: number
}

/** Kills at the first statement and then at evenly spaced ones, at most `times` times, before and after it in turn. */
async function killEach(tally: Tally, { from, places, schema, times, users, version }: Migration): Promise<string> {
  const counted = await places.create(from)
  const total = await countStatements(counted, version)
  await places.remove(counted)
  const step = Math.max(1, total / times)
  let kills = 0
  for (let at = 1; at <= total; at += step) {
    const statement = Math.floor(at)
    const when = kills % 2 === 0 ? 'before' : 'after'
    const what = version === nextVersionEnv ? 'migrating' : 'creating'
    await tally.attempt(`${what}, ${when} statement ${statement}`, async () => {
      const place = await places.create(from)
      await killAt(place, { ...version, KILL_AT_STATEMENT: String(statement), KILL_WHEN: when })
      kills++
      await start(place, version)
      demandEqual(await schemaOf(place), schema, 'the schema')
      checkRows(place, new FaultLoad({ userId: '', key: '' }, tally.random), { isAllKnown: false })
      demandEqual(await read(place, (rows) => countRows(rows, 'users')), users, 'the number of users')
      await places.remove(place)
    })
  }
  return `${kills} kills over ${total} statements`
}

function envOf(place: Place, version: Record<string, string>): Record<string, string> {
  return { ...env, ...(typeof place === 'string' ? {} : databaseEnv(place)), ...version }
}

function withPreload(version: Record<string, string>): Record<string, string> {
  return { ...version, NODE_OPTIONS: `${version['NODE_OPTIONS'] ?? ''} --import=${killer}` }
}

async function start(place: Place, version: Record<string, string> = {}): Promise<void> {
  const server = await startProcess({ dataDir: dataDirOf(place), env: envOf(place, version) })
  demandEqual(await server.end('SIGTERM'), 0, 'the exit code')
}

/** Kills a start at a statement or, if the start has fewer statements, once it listens. */
async function killAt(place: Place, version: Record<string, string>): Promise<void> {
  const starting = startProcess({ dataDir: dataDirOf(place), env: envOf(place, withPreload(version)) })
  await (await starting.catch(() => undefined))?.end('SIGKILL')
}

async function countStatements(place: Place, version: Record<string, string>): Promise<number> {
  const file = join(dataDirOf(place), 'counted')
  const counting = envOf(place, withPreload({ ...version, COUNT_STATEMENTS: file }))
  const server = await startProcess({ dataDir: dataDirOf(place), env: counting })
  const counted = Number(readFileSync(file, 'utf8'))
  await server.end('SIGKILL')
  return counted
}

/** Reads a place without leaving a connection, which would count as a node of an older version. */
async function read<Result>(place: Place, work: (rows: RowSource) => Result): Promise<Result> {
  try {
    return readPlace(place, work)
  } finally {
    if (typeof place === 'object') PostgresRows.of(place.databaseUrl).close()
  }
}

const sqliteSchema = `
  SELECT name, sql AS definition FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'
  UNION ALL SELECT 'migration', hash FROM __drizzle_migrations
  ORDER BY 1, 2`
const postgresSchema = `
  SELECT table_name || '.' || column_name AS name, concat_ws(' ', data_type, is_nullable, column_default) AS definition
    FROM information_schema.columns WHERE table_schema = 'public'
  UNION ALL SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'
  UNION ALL SELECT conname, conrelid::regclass::text || ' ' || pg_get_constraintdef(oid)
    FROM pg_constraint WHERE connamespace = 'public'::regnamespace
  UNION ALL SELECT tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
  UNION ALL SELECT proname, pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace
  UNION ALL SELECT 'migration', hash FROM drizzle.__drizzle_migrations
  ORDER BY 1, 2`

function schemaOf(place: Place): Promise<unknown> {
  return read(place, (rows) => rows.all(typeof place === 'string' ? sqliteSchema : postgresSchema))
}

async function refuseNewer(next: Place): Promise<void> {
  const content = async () =>
    typeof next === 'string'
      ? readFileSync(databaseFile(next)).toString('base64')
      : JSON.stringify(await schemaOf(next))
  const before = await content()
  const refusal = await startProcess({ dataDir: dataDirOf(next), env: envOf(next, {}) }).then(
    () => 'it serves',
    (error: Error) => error.message,
  )
  const message = 'The database was written by a newer version of Errand. Run that version.'
  demandEqual(refusal, `the server exited with 1: errand: ${message}\n`, 'the refusal')
  demand((await content()) === before, 'the database is as it was')
}
