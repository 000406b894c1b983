import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import Database from 'better-sqlite3'
import { newId } from '../server/kernel/ids.ts'
import type { BenchUser } from './bench-data.ts'
import { startProcess, type BenchProcess } from './bench-process.ts'
import { serveArguments } from './bench-servers.ts'
import { atLeast, type Measure, type Row } from './bench-table.ts'
import { median } from './paired-rates.ts'

const endpoints = 16
const rounds = 3
const file = (path: string) => fileURLToPath(new URL(path, import.meta.url))

/**
 * Measures the delivery rate of due events to endpoints on this machine, until the last event has arrived. The baseline
 * is plain POST requests to the same endpoints.
 */
export const measureEvents: Measure = async ({ isQuick, template, users }) => {
  const count = isQuick ? 2000 : 10_000
  const sink = await startProcess([file('./floor/webhook-sink.ts')], {})
  const rates: Record<'floor' | 'many' | 'one', number[]> = { floor: [], many: [], one: [] }
  try {
    for (let round = 0; round < rounds; round++) {
      rates.floor.push(await plainPosts(sink, count))
      rates.many.push(await delivered(sink, { template, users: users.slice(0, endpoints), count }))
      rates.one.push(await delivered(sink, { template, users: users.slice(0, 1), count }))
    }
  } finally {
    await sink.stop()
  }
  const [floor, many, one] = [median(rates.floor), median(rates.many), median(rates.one)]
  const row = (what: string, value: number): Row & { ratio: number } => {
    return { what, value, unit: '/s', against: 'plain POSTs', ratio: value / floor }
  }
  return [
    { what: 'floor: plain signed POSTs, 64 in flight', value: floor, unit: '/s' },
    atLeast(row(`deliveries that are due, ${endpoints} endpoints`, many), 0.25),
    row('deliveries that are due, one endpoint', one),
    atLeast({ what: 'deliveries against 1,000/s', value: many, unit: '/s', against: '1,000/s', ratio: many / 1000 }, 1),
  ]
}

async function plainPosts(sink: BenchProcess, count: number): Promise<number> {
  const floor = spawn(process.execPath, [file('./floor/webhook-floor.ts'), sink.url, String(count)], {
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  await once(floor, 'exit')
  return await rateAt(sink, count)
}

type Due = { template: string; users: readonly BenchUser[]; count: number }

/** Starts a server on a data directory with undelivered events and returns its delivery rate. */
async function delivered(sink: BenchProcess, { count, template, users }: Due): Promise<number> {
  const dataDir = mkdtempSync(join(tmpdir(), 'errand-bench-events-'))
  cpSync(template, dataDir, { recursive: true })
  try {
    const setup = await startProcess(serveArguments(dataDir), {})
    for (const { key } of users) {
      const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' }
      const body = JSON.stringify({ url: sink.url, types: ['task.completed'] })
      const answer = await fetch(`${setup.url}/api/webhooks`, { method: 'POST', headers, body })
      if (answer.status !== 200) throw new Error(await answer.text())
    }
    await setup.stop()
    insertDue(dataDir, count)
    const server = await startProcess(serveArguments(dataDir), {})
    const rate = await rateAt(sink, count)
    await server.stop()
    return rate
  } finally {
    rmSync(dataDir, { recursive: true, force: true })
  }
}

function insertDue(dataDir: string, count: number): void {
  const db = new Database(join(dataDir, 'errand.db'))
  const webhooks = db.prepare<[], { id: string; userId: string }>('SELECT id, user_id AS "userId" FROM webhooks').all()
  const event = db.prepare(
    "INSERT INTO events (id, user_id, type, body, created_at) VALUES (?, ?, 'session.expired', ?, ?)",
  )
  const delivery = db.prepare(
    `INSERT INTO deliveries (event_id, webhook_id, target, status, attempts, fence, due_at, created_at)
      VALUES (?, ?, ?, 'pending', 0, 0, ?, ?)`,
  )
  db.transaction(() => {
    for (let n = 0; n < count; n++) {
      const now = Date.now()
      const { id: webhookId, userId } = webhooks[n % webhooks.length]!
      const id = newId('evt', now)
      event.run(id, userId, JSON.stringify({ type: 'session.expired', data: 'x'.repeat(250) }), now)
      delivery.run(id, webhookId, webhookId, now, now)
    }
  })()
  db.pragma('wal_checkpoint(TRUNCATE)')
  db.close()
}

async function rateAt(sink: BenchProcess, count: number): Promise<number> {
  for (;;) {
    const now = (await (await fetch(sink.url)).json()) as { count: number; ms: number }
    if (now.count >= count) {
      await fetch(`${sink.url}/reset`)
      return count / (now.ms / 1000)
    }
    await sleep(20)
  }
}
