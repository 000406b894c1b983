import { existsSync } from 'node:fs'
import Database from 'better-sqlite3'
import { databaseFile } from '../../server/store/sqlite/database.ts'
import { startProcess, type ServerProcess } from '../support/test-process.ts'
import { checkChats, checkCredits, checkEnds, checkPayloads, checkRuns, checkTasks } from './acknowledged-rows.ts'
import { type FaultLoad, retriesOf } from './fault-load.ts'
import { machineSlowness, waitedForProcessor } from './busy-machine.ts'
import { countRows, dataDirOf, readPlace, type Place } from './row-source.ts'
import { demand, demandEqual, until } from '../support/until.ts'

/** Disables account limits and overload protection, which most faults do not test. */
export const unlimited = {
  ERRAND_MAX_LOOP_DELAY_MS: '60000',
  ERRAND_EXECUTIONS_PER_MINUTE: '0',
  ERRAND_ABUSE_FAILURES: '0',
  ERRAND_LOG_LEVEL: 'warn',
}
export const settings = {
  ...unlimited,
  ERRAND_TASK_CONCURRENCY: '16',
  ERRAND_AGENT_THREADS: '1',
  ERRAND_MAX_REPLY_BYTES: '52428800',
}

const recoveryMsMax = 5000
/**
 * Longer on PostgreSQL, because a killed node's leases must expire, and a node settles other nodes' work only after it
 * has reached the database without a break for a full lease.
 */
const leaseRecoveryMsMax = 12_000
const backlogMsMax = 60_000
const logCharsMax = 1500
const retriesMax = 2

export function readRows<Result>(dataDir: string, read: (db: Database.Database) => Result): Result {
  const db = new Database(databaseFile(dataDir), { readonly: true, timeout: 5000 })
  try {
    return read(db)
  } finally {
    db.close()
  }
}

type LeftTask = { id: string; endpoint: string; attempt: number }

export function leftProcessing(place: Place): LeftTask[] {
  if (typeof place === 'string' && !existsSync(databaseFile(place))) return []
  return readPlace(place, (rows) =>
    rows.all<LeftTask>(
      `SELECT id, endpoint_id AS endpoint, attempt FROM tasks WHERE status = 'processing' AND queued = 0`,
    ),
  )
}

/** Waits until PostgreSQL has finished a killed node's statements. */
export async function untilAlone(place: Place): Promise<void> {
  if (typeof place === 'string') return
  const others = `pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name <> ''`
  await until('what a killed node had asked for is over', backlogMsMax, () =>
    readPlace(place, (rows) => countRows(rows, others) === 0),
  )
}

/** Starts a server on the data that a fault left behind and checks all invariants. Returns the running server. */
export async function restartAndCheck(
  place: Place,
  load: FaultLoad,
  options: { env?: Record<string, string>; config?: string } = {},
): Promise<ServerProcess> {
  await untilAlone(place)
  const left = leftProcessing(place)
  const startedAt = Date.now()
  const server = await startProcess({ dataDir: dataDirOf(place), env: settings, ...options })
  const startMs = Date.now() - startedAt
  try {
    const endedMs = (await untilEnded(place, left)) - startedAt
    const msMax = typeof place === 'string' ? recoveryMsMax : leaseRecoveryMsMax
    const waitedMs = left.length === 0 ? 0 : waitedForProcessor(server.child)
    load.restarts.push({ left: left.length, startMs, endedMs, waitedMs })
    if (left.length > 0 && endedMs > msMax + waitedMs) {
      const allowedMs = msMax * machineSlowness() + waitedMs
      demand(endedMs <= allowedMs, `what was processing ended after ${endedMs} ms, where ${allowedMs} are allowed`)
    }
    await load.repeatUnknown(server.url)
    await untilIdle(place)
    checkRows(place, load)
    return server
  } catch (error) {
    await server.end('SIGKILL')
    throw new Error(`${String(error)}; the log ends: ${server.log().slice(-logCharsMax)}`, { cause: error })
  }
}

/**
 * Waits until all tasks left in `processing` have ended: as interrupted and refunded or, if the endpoint allows
 * retries, by another run. They must end within 5 s of the new process's start, not counting time in which the process
 * was runnable but not running. Resolves with the time of the last end.
 */
async function untilEnded(place: Place, left: readonly LeftTask[]): Promise<number> {
  type Row = { id: string; status: string; attempt: number; error: string | null; endedAt: number | null }
  let endedAt = 0
  if (left.length === 0) return endedAt
  const select = `SELECT id, status, attempt, error_code AS error, completed_at AS "endedAt" FROM tasks
    WHERE id IN (${left.map(() => '?').join(', ')})`
  await until('what a fault left processing has ended', backlogMsMax, () => {
    const found = readPlace(place, (rows) => rows.all<Row>(select, ...left.map(({ id }) => id)))
    const byId = new Map(found.map((row) => [row.id, row]))
    return left.every(({ attempt, endpoint, id }) => {
      const now = byId.get(id)
      demand(now, `${id}, which was processing, is lost`)
      if (now.endedAt === null) return false
      const runsAgain = attempt <= (retriesOf[endpoint] ?? 0)
      const expected = runsAgain ? ['completed', attempt + 1, null] : ['failed', attempt, 'AGENT_INTERRUPTED']
      demandEqual([now.status, now.attempt, now.error], expected, `the end of ${id} after attempt ${attempt}`)
      endedAt = Math.max(endedAt, now.endedAt)
      return true
    })
  })
  return endedAt
}

/** Waits until every task has ended and the chats of all dead nodes are settled. */
export async function untilIdle(place: Place): Promise<void> {
  const open = ["tasks WHERE status IN ('pending', 'processing')", 'turns WHERE settled_at IS NULL']
  await until('every accepted task and chat has ended', backlogMsMax, () =>
    readPlace(place, (rows) => open.every((from) => countRows(rows, from) === 0)),
  )
}

/** Checks every invariant visible in the files of an idle service. */
export function checkRows(place: Place, load: FaultLoad, { isAllKnown = true } = {}): void {
  demandEqual(load.unexpected, [], 'answers that nobody expects')
  if (typeof place === 'string') {
    const integrity = readRows(place, (db) => db.pragma('integrity_check', { simple: true }))
    demandEqual(integrity, 'ok', 'integrity of the database')
  }
  readPlace(place, (rows) => {
    demandEqual(rows.verifyLedger().differences, [], 'the ledger')
    for (const [what, from] of Object.entries(broken)) demandEqual(countRows(rows, from), 0, what)
    checkTasks(rows, load)
    checkEnds(rows, load)
    if (isAllKnown) demandEqual(countRows(rows, 'tasks'), load.accepted.size, 'all tasks, against those acknowledged')
    checkRuns(rows, load)
    checkCredits(rows, load)
    load.parts.payments?.check(rows)
    checkChats(rows, load)
    checkPayloads(rows, place, load)
  })
}

/** Queries for rows that violate an invariant. */
const broken = {
  'a balance below zero or below what is held': 'accounts WHERE held < 0 OR held > balance',
  'a hold without a turn': 'accounts WHERE held <> 0',
  'a turn that is not settled': 'turns WHERE settled_at IS NULL',
  'times out of order': 'tasks WHERE created_at > started_at OR started_at > completed_at',
  'a completed task without response, or another with one': `tasks WHERE (status = 'completed') <> (response IS NOT NULL)`,
  'a failed task without error, or another with one': `tasks WHERE (status = 'failed') <> (error_code IS NOT NULL)`,
  'a session whose count is not its messages': `sessions s WHERE message_count <>
    (SELECT count(*) FROM messages m WHERE m.session_id = s.id)`,
  'a session with a turn that is over': 'sessions WHERE open_turn_id IS NOT NULL',
  'a turn whose messages are not those of its end': `turns t
    LEFT JOIN (SELECT turn_id, count(*) AS kept FROM messages GROUP BY turn_id) m ON m.turn_id = t.id
    WHERE coalesce(m.kept, 0) <> CASE WHEN outcome IN ('finished', 'truncated') THEN 2 ELSE 0 END
    AND EXISTS (SELECT 1 FROM sessions s WHERE s.id = t.session_id)`,
  'a key whose task is not there': `idempotency_keys k WHERE operation = 'createTask'
    AND NOT EXISTS (SELECT 1 FROM tasks WHERE id = k.resource_id AND user_id = k.user_id)`,
  'a task that names a payload without a row': `tasks k WHERE
    (request_payload IS NOT NULL AND request_payload NOT IN (SELECT id FROM payloads)) OR
    (response_payload IS NOT NULL AND response_payload NOT IN (SELECT id FROM payloads))`,
  'a large request or response that is not stored apart': `tasks WHERE
    (request_payload IS NULL AND octet_length(request) > 16384) OR
    (response_payload IS NULL AND octet_length(response) > 16384)`,
  'a preview that is too long': `tasks WHERE
    (request_payload IS NOT NULL AND length(request) > 1024) OR
    (response_payload IS NOT NULL AND length(response) > 1024)`,
  'a task with more attempts than are allowed': `tasks WHERE attempt > ${retriesMax + 1}`,
  'a payload that no task names': `payloads p WHERE media_type IS NULL AND NOT EXISTS
    (SELECT 1 FROM tasks WHERE id = p.task_id AND p.id IN (request_payload, response_payload))`,
  'a file of no turn': `payloads p WHERE media_type IS NOT NULL AND NOT EXISTS
    (SELECT 1 FROM turns WHERE id = p.task_id)`,
}
