import { cpSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { databaseFile } from '../../server/store/sqlite/database.ts'
import { nextVersionEnv } from '../support/next-version.ts'
import { startProcess } from '../support/test-process.ts'
import { newDataDir } from '../support/test-service.ts'
import { checkRows, readRows, unlimited } from './fault-invariants.ts'
import { FaultLoad } from './fault-load.ts'
import { reportOn, type FaultOptions, type FaultReport, type Tally } from './fault-report.ts'
import { demand, demandEqual } from '../support/until.ts'

const killer = fileURLToPath(new URL('./kill-at-statement.ts', import.meta.url))
const env = { ...unlimited, ERRAND_LOG_LEVEL: 'error', ERRAND_AGENT_THREADS: '1' }

/**
 * Creates one database and migrates another to the next version, killing the server at up to `times` statements of
 * each. Also checks that a database of a newer version is rejected.
 */
export function run(options: FaultOptions): Promise<FaultReport> {
  return reportOn('migrations', options, async (tally) => {
    const [empty, current, next] = [newDataDir(), newDataDir(), newDataDir()]
    await start(current)
    await start(next, nextVersionEnv)
    const { times } = options
    tally.notes.push(`creating: ${await killEach(tally, { from: empty, to: current, version: {}, times })}`)
    tally.notes.push(`migrating: ${await killEach(tally, { from: current, to: next, version: nextVersionEnv, times })}`)
    await tally.attempt('a newer schema', () => refuseNewer(next))
    for (const used of [empty, current, next]) rmSync(used, { recursive: true })
  })
}

type Migration = { from: string; to: string; version: Record<string, string>; times: number }

/** Kills at the first statement and then at evenly spaced ones, at most `times` times. */
async function killEach(tally: Tally, { from, times, to, version }: Migration): Promise<string> {
  const total = await countStatements(from, version)
  const step = Math.max(1, total / times)
  let kills = 0
  for (let at = 1; at <= total; at += step) {
    const statement = Math.floor(at)
    await tally.attempt(
      `${version === nextVersionEnv ? 'migrating' : 'creating'}, at statement ${statement}`,
      async () => {
        const dataDir = copyOf(from)
        await killAt(dataDir, statement, version)
        kills++
        await start(dataDir, version)
        demandEqual(schemaOf(dataDir), schemaOf(to), 'the schema')
        checkRows(dataDir, new FaultLoad({ userId: '', key: '' }, tally.random), { isAllKnown: false })
        rmSync(dataDir, { recursive: true })
      },
    )
  }
  return `${kills} kills over ${total} statements`
}

function copyOf(older: string): string {
  const dataDir = newDataDir()
  cpSync(older, dataDir, { recursive: true })
  return dataDir
}

function withPreload(version: Record<string, string>): Record<string, string> {
  return { ...env, ...version, NODE_OPTIONS: `${version['NODE_OPTIONS'] ?? ''} --import=${killer}` }
}

async function start(dataDir: string, version: Record<string, string> = {}): Promise<void> {
  const server = await startProcess({ dataDir, env: { ...env, ...version } })
  demandEqual(await server.end('SIGTERM'), 0, 'the exit code')
}

/** Kills a start at a statement or, if the start has fewer statements, once it listens. */
async function killAt(dataDir: string, statement: number, version: Record<string, string>): Promise<void> {
  const start = startProcess({ dataDir, env: { ...withPreload(version), KILL_AT_STATEMENT: String(statement) } })
  await (await start.catch(() => undefined))?.end('SIGKILL')
}

async function countStatements(from: string, version: Record<string, string>): Promise<number> {
  const dataDir = copyOf(from)
  const file = join(dataDir, 'counted')
  const server = await startProcess({ dataDir, env: { ...withPreload(version), COUNT_STATEMENTS: file } })
  const counted = Number(readFileSync(file, 'utf8'))
  await server.end('SIGKILL')
  rmSync(dataDir, { recursive: true })
  return counted
}

function schemaOf(dataDir: string): unknown {
  return readRows(dataDir, (db) =>
    db.prepare(`SELECT type, name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY 1, 2`).all(),
  )
}

async function refuseNewer(next: string): Promise<void> {
  const before = readFileSync(databaseFile(next))
  const refusal = await startProcess({ dataDir: next, env }).then(
    () => 'it serves',
    (error: Error) => error.message,
  )
  const message = 'The database was written by a newer version of Errand. Run that version.'
  demandEqual(refusal, `the server exited with 1: errand: ${message}\n`, 'the refusal')
  demand(readFileSync(databaseFile(next)).equals(before), 'the database is as it was')
}
