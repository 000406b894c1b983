import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { formatUsd, parseUsd } from '../../server/kernel/money.ts'
import { type FaultLoad, largeText, pagePrice } from './fault-load.ts'
import { dataDirOf, type Place, type RowSource } from './row-source.ts'
import { demand, demandEqual } from '../support/until.ts'

// Checks the rows against what the load's clients and agents observed.

/** Checks that every acknowledged task exists, has ended and was charged once. */
export function checkTasks(rows: RowSource, { accepted, canceled, owners }: FaultLoad): void {
  type Task = { id: string; user: string; endpoint: string; status: string; error: string | null } & Metered
  const tasks = rows.all<Task>(
    `SELECT id, user_id AS "user", endpoint_id AS endpoint, status, error_code AS error, request, cost,
       given_back AS "givenBack" FROM tasks`,
  )
  const money = moneyOf(rows)
  const byId = new Map(tasks.map((row) => [row.id, { ...row, money: money.get(row.id) }]))
  for (const [id, endpoint] of accepted) {
    const row = byId.get(id)
    demand(row, `the acknowledged task ${id} of ${endpoint} is lost`)
    demandEqual([row.endpoint, row.user], [endpoint, owners.get(id)], `the endpoint and the owner of ${id}`)
    if (row.status === 'completed') {
      const expected = row.givenBack > 0 ? 'task_charge-1 adjustment1' : 'task_charge-1'
      demandEqual(row.money, expected, `the money of the completed task ${id}`)
      if (endpoint === 'noted.metered') demandEqual(row.cost, usedBy(row), `the cost of the metered task ${id}`)
    } else {
      demandEqual(row.status, 'failed', `the end of ${id}`)
      demandEqual(row.money, 'task_charge-1 task_refund1', `the money of the failed task ${id}`)
      const errors = ['AGENT_INTERRUPTED']
      if (endpoint === 'test.fail') errors.push('AGENT_ERROR')
      if (canceled.has(id)) errors.push('CANCELED')
      demand(errors.includes(row.error ?? ''), `${id} of ${endpoint} failed with ${row.error}`)
    }
  }
}

type Metered = { request: string; cost: number; givenBack: number }

function usedBy({ request }: Metered): number {
  return (JSON.parse(request) as { pages: number }).pages * pagePrice
}

/** Returns each task's transactions in order, as shares of the price or of the refund. */
function moneyOf(rows: RowSource): Map<string, string> {
  const money = new Map<string, string>()
  const postings = rows.all<{ id: string; posted: string; share: number }>(
    `SELECT t.task_id AS id, t.type AS posted,
       t.amount / NULLIF(CASE t.type WHEN 'adjustment' THEN k.given_back ELSE k.cost + k.given_back END, 0) AS share
     FROM transactions t JOIN tasks k ON k.id = t.task_id ORDER BY t.seq`,
  )
  for (const { id, posted, share } of postings) {
    const earlier = money.get(id)
    money.set(id, `${earlier === undefined ? '' : `${earlier} `}${posted}${share}`)
  }
  return money
}

/** Checks that no task changed after a client had read its end. */
export function checkEnds(rows: RowSource, { ended }: FaultLoad): void {
  type End = { id: string; status: string; at: number; cost: number }
  const tasks = rows.all<End>('SELECT id, status, completed_at AS at, cost FROM tasks WHERE completed_at IS NOT NULL')
  const byId = new Map(tasks.map((row) => [row.id, row]))
  for (const [id, seen] of ended) {
    const row = byId.get(id)
    demand(row, `the task ${id}, which a client read, is lost`)
    const now = { status: row.status, completedAt: new Date(row.at).toISOString(), costUsd: formatUsd(row.cost) }
    demandEqual(now, seen, `the end of ${id}, as a client read it`)
  }
}

export type Note = { id: string; what: 'begins' | 'ends'; pid: number; at: number }

/** Returns the agents' notes of their runs, oldest first. */
export function readNotes(file: string): Note[] {
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : []
  return lines.map((line) => {
    const [id = '', what, pid, at] = line.split(' ')
    return { id, what: what as Note['what'], pid: Number(pid), at: Number(at) }
  })
}

/** Checks by the agents' notes that every run belongs to a task, and that no task ran more often than its row says. */
export function checkRuns(rows: RowSource, { parts }: FaultLoad): void {
  if (parts.notes === undefined || !existsSync(parts.notes)) return
  const runs = new Map<string, { begins: number; ends: number }>()
  for (const { id, what } of readNotes(parts.notes)) {
    const run = runs.get(id) ?? { begins: 0, ends: 0 }
    run[what]++
    runs.set(id, run)
  }
  const tasks = rows.all<{ id: string; attempt: number; status: string }>(
    `SELECT id, attempt, status FROM tasks WHERE endpoint_id LIKE 'noted.%'`,
  )
  for (const { attempt, id, status } of tasks) {
    const { begins, ends } = runs.get(id) ?? { begins: 0, ends: 0 }
    runs.delete(id)
    demand(begins <= attempt, `${id} ran ${begins} times in ${attempt} attempts`)
    if (status === 'completed') demand(ends > 0, `${id} is completed and never ran to its end`)
  }
  demandEqual([...runs.keys()], [], 'runs of what is no task')
}

/** Checks that each acknowledged credit is exactly one transaction, and that there are no others. */
export function checkCredits(rows: RowSource, { parts }: FaultLoad): void {
  if (!parts.poor) return
  const { credits } = parts.poor
  const posted = rows.all<{ id: string; key: string }>(
    `SELECT id, idempotency_key AS key FROM transactions
     WHERE user_id = ? AND type = 'credit' AND idempotency_key IS NOT NULL`,
    credits.userId,
  )
  const found = Object.fromEntries(posted.map(({ id, key }) => [key, id]))
  for (const [key, id] of credits.acknowledged) demandEqual(found[key], id, `the transaction of the credit ${key}`)
  demandEqual(posted.length, credits.sent, 'credits')
}

export function checkChats(rows: RowSource, { charged }: FaultLoad): void {
  const charges = rows.all<{ id: string; amount: number }>(
    `SELECT session_id AS id, -amount AS amount FROM transactions WHERE type = 'chat_charge'`,
  )
  const bySession = Map.groupBy(charges, ({ id }) => id)
  for (const [sessionId, costs] of charged) {
    const left = (bySession.get(sessionId) ?? []).map(({ amount }) => amount)
    for (const cost of costs) {
      const at = left.indexOf(parseUsd(cost)!)
      demand(at >= 0, `a done that said ${cost} has no charge in ${sessionId}`)
      left.splice(at, 1)
    }
  }
}

/** Checks that every payload exists and is complete. */
export function checkPayloads(rows: RowSource, place: Place, { accepted, wholePayloads }: FaultLoad): void {
  const payloads = rows.all<{ id: string; taskId: string; isFile: number }>(
    `SELECT id, task_id AS "taskId", CASE WHEN media_type IS NULL THEN 0 ELSE 1 END AS "isFile" FROM payloads`,
  )
  for (const { id, isFile, taskId } of payloads) {
    // The service never rewrites a payload, so one found complete only has to exist in later checks.
    const text = readPayload(rows, place, id)
    demand(text !== undefined, `the payload ${id} is there`)
    // Message files may contain anything.
    if (isFile) continue
    if (wholePayloads.has(id)) continue
    demand(Buffer.byteLength(text) > 16_384, `the payload ${id} is whole`)
    const value = JSON.parse(text)
    if (accepted.has(taskId)) demandEqual(value.text, largeText, `the text of the payload ${id}`)
    wholePayloads.add(id)
  }
}

function readPayload(rows: RowSource, place: Place, id: string): string | undefined {
  if (typeof place === 'string') {
    const file = join(dataDirOf(place), 'payloads', id.slice(-2), `${id}.json`)
    return existsSync(file) ? readFileSync(file, 'utf8') : undefined
  }
  const select = 'SELECT content FROM payload_parts WHERE payload_id = ? ORDER BY part'
  const parts = rows.all<{ content: Uint8Array }>(select, id)
  return parts.length === 0 ? undefined : Buffer.concat(parts.map(({ content }) => content)).toString()
}
