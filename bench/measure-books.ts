import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { createPlatformKey } from '../server/auth/platform/manage-platform-keys.ts'
import { SystemClock } from '../server/kernel/clock.ts'
import { bookGroups } from '../server/store/books/book-groups.ts'
import { openBenchStore, type BenchUser } from './bench-data.ts'
import { startServer } from './bench-servers.ts'
import { atMost, type Measure, type Row } from './bench-table.ts'
import { drive, requestBytes } from './http-driver.ts'
import { untilIdle } from './measure-lists.ts'

const dayMs = 86_400_000
const usersMax = 1000
const days = 365
const executionsPerDay = 27
const times = 10
/** The books hold more executions than there are tasks, which the ledger check at startup would log. */
const quiet = { ERRAND_LOG_LEVEL: 'silent' }

/** Latency and CPU time of a year's revenue and cost: ten million executions of 1,000 users, by each grouping. */
export const measureBooks: Measure = async ({ template, users }) => {
  const withBooks = mkdtempSync(join(tmpdir(), 'errand-bench-books-'))
  cpSync(template, withBooks, { recursive: true })
  insertBooks(withBooks, users.slice(0, usersMax))
  const key = await closeBooks(withBooks)
  const server = await startServer('errand', { template: withBooks, env: quiet })
  rmSync(withBooks, { recursive: true, force: true })
  await untilIdle(server)
  const [from, to] = [today() - days, today()].map((day) => new Date(day * dayMs).toISOString().slice(0, 10))
  const rows: Row[] = []
  for (const groupBy of bookGroups) {
    const request = requestBytes('GET', `/api/admin/economics?from=${from}&to=${to}&groupBy=${groupBy}`, { key })
    let sent = 0
    const next = () => (sent++ < times ? request : undefined)
    await drive({ url: server.url, connections: 1, next })
    sent = 0
    const before = server.cpuSeconds()
    const { p50Ms, statuses } = await drive({ url: server.url, connections: 1, next })
    if (statuses[200] !== times) throw new Error(`economics by ${groupBy} answered ${JSON.stringify(statuses)}`)
    const cpuMs = ((server.cpuSeconds() - before) * 1000) / times
    rows.push(atMost({ what: `a year's books by ${groupBy}, median`, value: p50Ms, unit: 'ms' }, 50), {
      what: `a year's books by ${groupBy}, CPU`,
      value: cpuMs,
      unit: 'ms',
    })
  }
  await server.stop()
  return rows
}

function today(): number {
  return Math.floor(Date.now() / dayMs)
}

function insertBooks(dataDir: string, users: readonly BenchUser[]): void {
  const db = new Database(join(dataDir, 'errand.db'))
  const insert = db.prepare(
    `INSERT INTO book_days (user_id, day, agent_id, endpoint_id, model, plan, key_id, executions, failures, charged,
                            refunded, written_off, provider_cost)
     VALUES (?, ?, ?, ?, ?, ?, ?, ${executionsPerDay}, 1, 2700, 100, 0, 150000000)`,
  )
  db.transaction(() => {
    for (let day = today() - days; day <= today(); day++) {
      users.forEach(({ userId }, index) => {
        const agent = `agent-${(index + day) % 10}`
        insert.run(userId, day, agent, `${agent}.run`, `model-${index % 5}`, `plan-${index % 3}`, `key_${index}`)
      })
    }
  })()
  db.close()
}

/** Closes every past day and month, as upkeep does, and returns a platform key that may read the books. */
async function closeBooks(dataDir: string): Promise<string> {
  const store = openBenchStore(dataDir)
  while (await store.books.close()) continue
  const parts = { store, clock: new SystemClock(), log: { info: () => {} } as never }
  const { key } = await createPlatformKey(parts, { adminId: null, input: { name: 'bench', scopes: ['economics'] } })
  await store.close()
  return key
}
