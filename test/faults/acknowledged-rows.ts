import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type Database from 'better-sqlite3'
import { formatUsd, parseUsd } from '../../server/kernel/money.ts'
import { type FaultLoad, largeText } from './fault-load.ts'
import { demand, demandEqual } from './until.ts'

// What clients and agents of a load know, against the rows.

/** What was acknowledged is there, ended and paid once. */
export function checkTasks(db: Database.Database, { accepted, owners }: FaultLoad): void {
  const rows = db
    .prepare<
      [],
      { id: string; user: string; endpoint: string; status: string; error: string | null; money: string | null }
    >(
      `SELECT k.id, k.user_id AS user, k.endpoint_id AS endpoint, k.status, k.error_code AS error,
              (SELECT group_concat(t.type || (t.amount / k.cost), ' ' ORDER BY t.seq) FROM transactions t
               WHERE t.task_id = k.id) AS money
       FROM tasks k`,
    )
    .all()
  const byId = new Map(rows.map((row) => [row.id, row]))
  for (const [id, endpoint] of accepted) {
    const row = byId.get(id)
    demand(row, `the acknowledged task ${id} of ${endpoint} is lost`)
    demandEqual([row.endpoint, row.user], [endpoint, owners.get(id)], `the endpoint and the owner of ${id}`)
    if (row.status === 'completed') demandEqual(row.money, 'task_charge-1', `the money of the completed task ${id}`)
    else {
      demandEqual(row.status, 'failed', `the end of ${id}`)
      demandEqual(row.money, 'task_charge-1 task_refund1', `the money of the failed task ${id}`)
      const errors = endpoint === 'test.fail' ? ['AGENT_ERROR', 'AGENT_INTERRUPTED'] : ['AGENT_INTERRUPTED']
      demand(errors.includes(row.error ?? ''), `${id} of ${endpoint} failed with ${row.error}`)
    }
  }
}

/** What a client has read of a task that has ended is so for ever. */
export function checkEnds(db: Database.Database, { ended }: FaultLoad): void {
  const read = db.prepare<[string], { status: string; at: number; cost: number }>(
    'SELECT status, completed_at AS at, cost FROM tasks WHERE id = ?',
  )
  for (const [id, seen] of ended) {
    const row = read.get(id)
    demand(row, `the task ${id}, which a client read, is lost`)
    const now = { status: row.status, completedAt: new Date(row.at).toISOString(), costUsd: formatUsd(row.cost) }
    demandEqual(now, seen, `the end of ${id}, as a client read it`)
  }
}

/** By the notes of the agents: nothing ran that is no task, and nothing ran more often than its row says. */
export function checkRuns(db: Database.Database, { parts }: FaultLoad): void {
  if (parts.notes === undefined || !existsSync(parts.notes)) return
  const runs = new Map<string, { begins: number; ends: number }>()
  for (const line of readFileSync(parts.notes, 'utf8').split('\n').slice(0, -1)) {
    const [id = '', what] = line.split(' ')
    const run = runs.get(id) ?? { begins: 0, ends: 0 }
    if (what === 'begins') run.begins++
    else run.ends++
    runs.set(id, run)
  }
  const rows = db
    .prepare<[], { id: string; attempt: number; status: string }>(
      `SELECT id, attempt, status FROM tasks WHERE endpoint_id IN ('noted.once', 'noted.again')`,
    )
    .all()
  for (const { attempt, id, status } of rows) {
    const { begins, ends } = runs.get(id) ?? { begins: 0, ends: 0 }
    runs.delete(id)
    demand(begins <= attempt, `${id} ran ${begins} times in ${attempt} attempts`)
    if (status === 'completed') demand(ends > 0, `${id} is completed and never ran to its end`)
  }
  demandEqual([...runs.keys()], [], 'runs of what is no task')
}

/** Each credit that was acknowledged is one transaction; there is no other. */
export function checkCredits(db: Database.Database, { parts }: FaultLoad): void {
  if (!parts.poor) return
  const { credits } = parts.poor
  const rows = db
    .prepare<[string], { id: string; key: string }>(
      `SELECT id, idempotency_key AS key FROM transactions WHERE user_id = ? AND type = 'credit' AND idempotency_key IS NOT NULL`,
    )
    .all(credits.userId)
  const found = Object.fromEntries(rows.map(({ id, key }) => [key, id]))
  for (const [key, id] of credits.acknowledged) demandEqual(found[key], id, `the transaction of the credit ${key}`)
  demandEqual(rows.length, credits.sent, 'credits')
}

export function checkChats(db: Database.Database, { charged }: FaultLoad): void {
  const amounts = db
    .prepare<[string], number>(`SELECT -amount FROM transactions WHERE session_id = ? AND type = 'chat_charge'`)
    .pluck()
  for (const [sessionId, costs] of charged) {
    const left = amounts.all(sessionId)
    for (const cost of costs) {
      const at = left.indexOf(parseUsd(cost)!)
      demand(at >= 0, `a done that said ${cost} has no charge in ${sessionId}`)
      left.splice(at, 1)
    }
  }
}

/** Every payload is there and whole. */
export function checkPayloads(db: Database.Database, dataDir: string, { accepted, wholePayloads }: FaultLoad): void {
  const rows = db.prepare<[], { id: string; taskId: string }>('SELECT id, task_id AS taskId FROM payloads').all()
  for (const { id, taskId } of rows) {
    const file = join(dataDir, 'payloads', id.slice(-2), `${id}.json`)
    if (wholePayloads.has(id)) {
      // Nothing writes a file again that was found whole; whether it is still there is looked at each time.
      demand(existsSync(file), `the payload ${id} is there`)
      continue
    }
    const text = readFileSync(file, 'utf8')
    demand(Buffer.byteLength(text) > 16_384, `the payload ${id} is whole`)
    const value = JSON.parse(text)
    if (accepted.has(taskId)) demandEqual(value.text, largeText, `the text of the payload ${id}`)
    wholePayloads.add(id)
  }
}
