import { randomBytes, hash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import Database from 'better-sqlite3'

// Baseline server ("floor"), handwritten with only node:http and better-sqlite3. It runs the same SQL as a submission
// and a read, on the same database with the same settings. It has no framework, no agents, and no validation beyond
// JSON.parse. With `group`, the requests of an event-loop tick share one transaction. With `single`, each request has
// its own transaction.
// Usage: node floor-server.ts <dataDir> <group|single>

const [, , dataDir = '', mode = 'group'] = process.argv
const db = new Database(join(dataDir, 'errand.db'))
for (const setting of [
  'journal_mode = WAL',
  'synchronous = FULL',
  'foreign_keys = ON',
  'cache_size = -12000',
  'temp_store = MEMORY',
  'wal_autocheckpoint = 4000',
]) {
  db.pragma(setting)
}

const rateLimit = 10
const price = 100
const sql = {
  version: db.prepare('PRAGMA data_version').pluck(),
  key: db.prepare(
    'SELECT k.id, k.user_id, k.expires_at, k.revoked_at FROM api_keys k JOIN users u ON u.id = k.user_id WHERE token_hash = ?',
  ),
  account: db.prepare('SELECT * FROM accounts WHERE user_id = ?'),
  rate: db
    .prepare(
      'SELECT created_at FROM tasks WHERE user_id = ? AND created_at > ? AND created_at <= ? ORDER BY created_at DESC LIMIT ?',
    )
    .pluck(),
  move: db.prepare('UPDATE accounts SET balance = balance + ? WHERE user_id = ? RETURNING balance').pluck(),
  ledger: db.prepare(
    "INSERT INTO transactions (id, user_id, type, amount, balance_after, task_id, description, created_at) VALUES (?, ?, 'task_charge', ?, ?, ?, ?, ?)",
  ),
  task: db.prepare(
    "INSERT INTO tasks (id, user_id, agent_id, endpoint_id, status, queued, attempt, cost, request, created_at) VALUES (?, ?, ?, ?, 'pending', 1, 0, ?, ?, ?)",
  ),
  counter: db.prepare(
    'INSERT INTO counters (user_id, kind, part, status, count) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count',
  ),
  get: db.prepare('SELECT * FROM tasks WHERE id = ? AND user_id = ?'),
  begin: db.prepare('BEGIN IMMEDIATE'),
  commit: db.prepare('COMMIT'),
  save: db.prepare('SAVEPOINT command'),
  release: db.prepare('RELEASE command'),
}

type KeyRow = { id: string; user_id: string; expires_at: number | null; revoked_at: number | null }
const keys = new Map<string, KeyRow>()
let seenVersion: unknown

function userOf(request: IncomingMessage): string | undefined {
  const tokenHash = hash('sha256', (request.headers.authorization ?? '').slice('Bearer '.length), 'hex')
  const version = sql.version.get()
  if (version !== seenVersion) {
    keys.clear()
    seenVersion = version
  }
  let key = keys.get(tokenHash)
  if (!key) {
    key = sql.key.get(tokenHash) as KeyRow | undefined
    if (!key) return undefined
    keys.set(tokenHash, key)
  }
  return key.revoked_at === null ? key.user_id : undefined
}

/** Execution times by user, read once and then cached, as in the service. */
const windows = new Map<string, number[]>()

function rateOf(userId: string, now: number): number[] {
  const times = windows.get(userId) ?? (sql.rate.all(userId, now - 60_000, now, rateLimit) as number[])
  windows.set(userId, times)
  while (times.length > 0 && times.at(-1)! <= now - 60_000) times.pop()
  return times
}

type Admission = { userId: string; endpointId: string; params: string; response: ServerResponse }
let queue: Admission[] = []

function admit({ userId, endpointId, params }: Admission): { status: number; body: object } {
  const now = Date.now()
  const rate = rateOf(userId, now)
  const account = sql.account.get(userId) as { balance: number; held: number; blocked_until: number | null }
  if (account.blocked_until !== null && account.blocked_until > now) return { status: 403, body: {} }
  if (rate.length >= rateLimit) return { status: 429, body: {} }
  if (account.balance - account.held < price) return { status: 403, body: {} }
  const id = `task_${now.toString(36)}${randomBytes(10).toString('hex')}`
  const balance = sql.move.get(-price, userId)
  sql.ledger.run(`txn${id}`, userId, -price, balance, id, `Task ${endpointId}`, now)
  rate.unshift(now)
  sql.task.run(id, userId, 'bench', endpointId, price, params, now)
  return { status: 200, body: { taskId: id, status: 'pending', message: 'Task created' } }
}

function count(userId: string): void {
  sql.counter.run(userId, 'transaction', 'task_charge', '', 1)
  sql.counter.run(userId, 'task', 'bench', 'pending', 1)
}

function commitQueue(): void {
  const batch = queue
  queue = []
  sql.begin.run()
  const answers = batch.map((admission) => {
    sql.save.run()
    const answer = admit(admission)
    sql.release.run()
    return answer
  })
  for (const [index, { status }] of answers.entries()) if (status === 200) count(batch[index]!.userId)
  sql.commit.run()
  for (const [index, { status, body }] of answers.entries()) send(batch[index]!.response, status, body)
}

function submit(admission: Admission): void {
  queue.push(admission)
  if (mode === 'single') commitQueue()
  else if (queue.length === 1) setImmediate(commitQueue)
}

function send(response: ServerResponse, status: number, body: object): void {
  const json = JSON.stringify(body)
  response.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(json) })
  response.end(json)
}

const server = createServer((request, response) => {
  const userId = userOf(request)
  if (userId === undefined) return send(response, 401, {})
  if (request.method === 'GET') {
    const row = sql.get.get(request.url!.slice('/api/tasks/'.length), userId) as Record<string, unknown> | undefined
    rateOf(userId, Date.now())
    if (!row) return send(response, 404, {})
    return send(response, 200, { ...row, request: JSON.parse(row['request'] as string) as object })
  }
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    const { endpointId, params } = JSON.parse(Buffer.concat(chunks).toString()) as {
      endpointId: string
      params: object
    }
    submit({ userId, endpointId, params: JSON.stringify(params), response })
  })
})
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })}\n`)
})
