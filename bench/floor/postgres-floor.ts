import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'

// Baseline for PostgreSQL: a program that uses only the `pg` client. It runs the prepared statements of a submission's
// transaction one by one, on its own connections. It has no HTTP, authentication or validation. GET /?count=N runs N
// submissions and returns the seconds that they took.
// Usage: node postgres-floor.ts <databaseUrl> <connections>

type Client = {
  connect(): Promise<void>
  query(query: string | { name: string; text: string; values: unknown[] }): Promise<{ rows: unknown[] }>
}

const [, , databaseUrl = '', connections = '10'] = process.argv
const { Client: PgClient } = createRequire(import.meta.url)('pg') as {
  Client: new (config: { connectionString: string }) => Client
}

const rateLimit = 10
const price = 100
const texts = {
  account: `SELECT user_id, balance::float8, held::float8, blocked_until::float8,
    floor(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now FROM accounts WHERE user_id = $1 FOR UPDATE`,
  rate: `SELECT created_at::float8 AS at FROM tasks WHERE user_id = $1 ORDER BY created_at DESC LIMIT $2`,
  move: 'UPDATE accounts SET balance = balance + $2 WHERE user_id = $1',
  ledger: `INSERT INTO transactions (id, user_id, type, amount, balance_after, task_id, description, created_at)
    VALUES ($1, $2, 'task_charge', $3, $4, $5, $6, $7)`,
  task: `INSERT INTO tasks (id, user_id, agent_id, endpoint_id, status, queued, attempt, cost, request, created_at)
    VALUES ($1, $2, 'bench', 'bench.noop', 'pending', 1, 0, $3, $4, $5)`,
  counters: `INSERT INTO counters (user_id, kind, part, status, count)
    VALUES ($1, 'transaction', 'task_charge', '', 1), ($1, 'task', 'bench', 'pending', 1)
    ON CONFLICT (user_id, kind, part, status) DO UPDATE SET count = counters.count + excluded.count`,
}

type Account = { balance: number; held: number; blocked_until: number | null; now: number }

async function submit(client: Client, userId: string): Promise<void> {
  const run = async (name: keyof typeof texts, values: unknown[]) =>
    (await client.query({ name, text: texts[name], values })).rows
  await client.query('BEGIN')
  const [account] = (await run('account', [userId])) as Account[]
  const { balance, blocked_until, held, now } = account!
  const rate = (await run('rate', [userId, rateLimit])) as { at: number }[]
  const counted = rate.filter(({ at }) => at > now - 60_000).length
  if (counted >= rateLimit || balance - held < price || (blocked_until ?? 0) > now) throw new Error('refused')
  const id = `task_${now.toString(36)}${randomBytes(10).toString('hex')}`
  await run('move', [userId, -price])
  await run('ledger', [`txn${id}`, userId, -price, balance - price, id, 'Task bench.noop', now])
  await run('task', [id, userId, price, '{"n":1}', now])
  await run('counters', [userId])
  await client.query('COMMIT')
}

async function connected(): Promise<Client> {
  const client = new PgClient({ connectionString: databaseUrl })
  await client.connect()
  // The service sets this too. Otherwise a plan from a time when a table was empty would later scan the whole table.
  await client.query('SET enable_seqscan = off')
  return client
}
const clients = await Promise.all(Array.from({ length: Number(connections) }, connected))
const { rows } = await clients[0]!.query('SELECT user_id FROM accounts ORDER BY user_id')
const userIds = (rows as { user_id: string }[]).map((row) => row.user_id)
let sent = 0

async function run(count: number): Promise<{ seconds: number }> {
  let left = count
  const startedAt = performance.now()
  await Promise.all(
    clients.map(async (client) => {
      while (left-- > 0) await submit(client, userIds[sent++ % userIds.length]!)
    }),
  )
  return { seconds: (performance.now() - startedAt) / 1000 }
}

const server = createServer((request, response) => {
  const count = Number(new URL(request.url!, 'http://floor').searchParams.get('count'))
  void run(count).then((ran) => response.end(JSON.stringify(ran)))
})
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })}\n`)
})
