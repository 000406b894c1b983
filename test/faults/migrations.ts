import { cpSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import Database from 'better-sqlite3'
import { databaseFile } from '../../server/store/sqlite/database.ts'
import { createOlder, migrationCount } from '../store/older-database.ts'
import { startProcess } from '../support/test-process.ts'
import { newDataDir } from '../support/test-service.ts'
import { checkRows, readRows, unlimited } from './fault-invariants.ts'
import { FaultLoad } from './fault-load.ts'
import { reportOn, type FaultOptions, type FaultReport, type Tally } from './fault-report.ts'
import { demand, demandEqual } from '../support/until.ts'

const killer = fileURLToPath(new URL('./kill-at-statement.ts', import.meta.url))
const env = { ...unlimited, ERRAND_LOG_LEVEL: 'error', ERRAND_AGENT_THREADS: '1' }
const preloaded = { ...env, NODE_OPTIONS: `--import=${killer}` }

/** Rows of each release, by its number of migrations. */
const fillings: readonly string[] = [
  `INSERT INTO users (id, email, password_hash, is_admin, created_at)
     VALUES ('user_1', 'ada@example.com', 'of a password', 1, 1000), ('user_2', 'bob@example.com', NULL, 0, 2000);
   INSERT INTO accounts (user_id, balance, held) VALUES ('user_1', 900, 0), ('user_2', 0, 0);
   INSERT INTO transactions (id, user_id, type, amount, balance_after, task_id, description, created_at) VALUES
     ('txn_1', 'user_1', 'credit', 1000, 1000, NULL, 'Top-up', 1000),
     ('txn_2', 'user_1', 'task_charge', -100, 900, 'task_1', 'Task', 1001),
     ('txn_3', 'user_1', 'task_charge', -100, 800, 'task_2', 'Task', 1002),
     ('txn_4', 'user_1', 'task_refund', 100, 900, 'task_2', 'Refund', 1003);
   INSERT INTO tasks (id, user_id, agent_id, endpoint_id, status, queued, attempt, cost, request, response, error_code,
       error_message, created_at, started_at, completed_at) VALUES
     ('task_1', 'user_1', 'test', 'test.echo', 'completed', 0, 1, 100, '{}', '{}', NULL, NULL, 1001, 1002, 1003),
     ('task_2', 'user_1', 'test', 'test.fail', 'failed', 0, 1, 100, '{}', NULL, 'AGENT_ERROR', 'No', 1002, 1002, 1003);
   INSERT INTO counters (user_id, kind, part, status, count) VALUES
     ('user_1', 'transaction', 'credit', '', 1), ('user_1', 'transaction', 'task_charge', '', 2),
     ('user_1', 'transaction', 'task_refund', '', 1), ('user_1', 'task', 'test', 'completed', 1),
     ('user_1', 'task', 'test', 'failed', 1);
   INSERT INTO api_keys (id, user_id, name, token_hash, hint, scopes, created_at)
     VALUES ('key_1', 'user_1', 'laptop', 'of a key', 'a1b2', 'read,manage', 1000);`,
  `INSERT INTO sessions (id, user_id, agent_id, is_completed, metadata, message_count, created_at, updated_at, active_at)
     VALUES ('ses_1', 'user_1', 'talk', 0, '{}', 2, 1000, 1000, 1000);
   INSERT INTO messages (id, session_id, turn_id, role, content, is_truncated, tokens, created_at) VALUES
     ('msg_1', 'ses_1', 'turn_1', 'user', 'Hello', 0, 1, 1000), ('msg_2', 'ses_1', 'turn_1', 'assistant', 'Hi', 0, 1, 1001);
   INSERT INTO turns (id, user_id, session_id, agent_id, held, cost, outcome, created_at, settled_at)
     VALUES ('turn_1', 'user_1', 'ses_1', 'talk', 0, 5, 'finished', 1000, 1004);
   INSERT INTO transactions (id, user_id, type, amount, balance_after, session_id, turn_id, description, created_at)
     VALUES ('txn_5', 'user_1', 'chat_charge', -5, 895, 'ses_1', 'turn_1', 'Chat', 1004);
   UPDATE accounts SET balance = 895 WHERE user_id = 'user_1';
   INSERT INTO counters (user_id, kind, part, status, count) VALUES ('user_1', 'transaction', 'chat_charge', '', 1);`,
  `INSERT INTO connectors (id, user_id, name, url, auth_type, status, created_at, updated_at)
     VALUES ('con_1', 'user_1', 'Tools', 'https://tools.example.com', 'none', 'unknown', 1000, 1000);`,
  `INSERT INTO logins (id, user_id, token_hash, method, created_at, last_used_at, expires_at)
     VALUES ('login_1', 'user_1', 'of a login', 'password', 1000, 1000, 9000000000000);
   INSERT INTO identities (issuer, subject, user_id, created_at)
     VALUES ('https://login.example.com', 'ada', 'user_1', 1000);`,
  '',
  '',
  '',
  `UPDATE sessions SET spent = 5 WHERE id = 'ses_1';`,
  // Work that ended before events existed has none.
  `INSERT INTO settings (name, value) VALUES ('events-since', '2000');`,
]

/**
 * Migrates databases of every earlier release with servers that are killed at `times` of their statements; and opens a
 * newer one.
 */
export function run(options: FaultOptions): Promise<FaultReport> {
  return reportOn('migrations', options, async (tally) => {
    const folder = newDataDir()
    const fresh = join(folder, 'fresh')
    await migrate(fresh)
    for (let count = 0; count < migrationCount; count++) {
      const older = newDataDir()
      if (count > 0) createOlder(older, count, (raw) => raw.exec(fillings.slice(0, count).join('\n')))
      const statements = await killEach(tally, { count, older, fresh, times: options.times })
      tally.notes.push(`from ${count} of ${migrationCount} migrations: ${statements}`)
      rmSync(older, { recursive: true })
    }
    await tally.attempt('a newer schema', () => refuseNewer(fresh))
    rmSync(folder, { recursive: true })
  })
}

type Migration = { count: number; older: string; fresh: string; times: number }

/** Kills at the first statement, then evenly over all of them, at most `times` times. */
async function killEach(tally: Tally, { count, fresh, older, times }: Migration): Promise<string> {
  const total = await countStatements(older)
  const step = Math.max(1, total / times)
  let kills = 0
  for (let at = 1; at <= total; at += step) {
    const statement = Math.floor(at)
    await tally.attempt(`from ${count} migrations, at statement ${statement}`, async () => {
      const dataDir = copyOf(older)
      const before = count === 0 ? undefined : contentOf(dataDir)
      await killAt(dataDir, statement)
      kills++
      await migrate(dataDir)
      if (before) {
        const after = contentOf(dataDir)
        for (const [table, rows] of Object.entries(before)) demandEqual(after[table], rows, `rows of ${table}`)
      }
      demandEqual(schemaOf(dataDir), schemaOf(fresh), 'the schema')
      checkRows(dataDir, new FaultLoad({ userId: '', key: '' }, tally.random), { isAllKnown: false })
      rmSync(dataDir, { recursive: true })
    })
  }
  return `${kills} kills over ${total} statements`
}

function copyOf(older: string): string {
  const dataDir = newDataDir()
  cpSync(older, dataDir, { recursive: true })
  return dataDir
}

async function migrate(dataDir: string): Promise<void> {
  const server = await startProcess({ dataDir, env })
  demandEqual(await server.end('SIGTERM'), 0, 'the exit code')
}

/** Kills a start at a statement, or once it listens. */
async function killAt(dataDir: string, statement: number): Promise<void> {
  const start = startProcess({ dataDir, env: { ...preloaded, KILL_AT_STATEMENT: String(statement) } })
  await (await start.catch(() => undefined))?.end('SIGKILL')
}

async function countStatements(older: string): Promise<number> {
  const dataDir = copyOf(older)
  const file = join(dataDir, 'counted')
  const server = await startProcess({ dataDir, env: { ...preloaded, COUNT_STATEMENTS: file } })
  const counted = Number(readFileSync(file, 'utf8'))
  await server.end('SIGKILL')
  rmSync(dataDir, { recursive: true })
  return counted
}

/** All values of the tables that hold counts and sums, without columns added by migrations. */
function contentOf(dataDir: string): Record<string, unknown> {
  const columns: Record<string, string> = {
    accounts: 'user_id, balance, held',
    users: 'id, email, password_hash, is_admin',
    transactions: 'id, type, amount, balance_after, task_id',
    tasks: 'id, status, cost, request, response',
    counters: 'user_id, kind, part, status, count',
    api_keys: 'id, token_hash, scopes',
    sessions: 'id, message_count, metadata',
    messages: 'id, role, content',
    turns: 'id, held, cost, outcome',
    connectors: 'id, name, url',
    logins: 'id, user_id, token_hash',
    identities: 'issuer, subject, user_id',
  }
  return readRows(dataDir, (db) => {
    const there = new Set(db.prepare(`SELECT name FROM sqlite_schema WHERE type = 'table'`).pluck().all())
    const read = ([table, names]: [string, string]) => [
      table,
      db.prepare(`SELECT ${names} FROM ${table} ORDER BY 1, 2, 3`).all(),
    ]
    return Object.fromEntries(Object.entries(columns).flatMap((of) => (there.has(of[0]) ? [read(of)] : [])))
  })
}

function schemaOf(dataDir: string): unknown {
  return readRows(dataDir, (db) =>
    db.prepare(`SELECT type, name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY 1, 2`).all(),
  )
}

async function refuseNewer(fresh: string): Promise<void> {
  const db = new Database(databaseFile(fresh))
  db.prepare('INSERT INTO __drizzle_migrations (hash, created_at) VALUES (?, ?)').run('of a later version', 9e15)
  db.close()
  const before = readFileSync(databaseFile(fresh))
  const refusal = await startProcess({ dataDir: fresh, env }).then(
    () => 'it serves',
    (error: Error) => error.message,
  )
  const message = 'The database was written by a newer version of Errand. Run that version.'
  demandEqual(refusal, `the server exited with 1: errand: ${message}\n`, 'the refusal')
  demand(readFileSync(databaseFile(fresh)).equals(before), 'the database is as it was')
}
