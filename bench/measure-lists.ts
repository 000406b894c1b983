import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { insertTasks, type BenchUser } from './bench-data.ts'
import type { BenchProcess } from './bench-process.ts'
import { startServer, type BenchServer } from './bench-servers.ts'
import { atMost, type Measure, type Row } from './bench-table.ts'
import { drive, requestBytes } from './http-driver.ts'

const few = 1000
const queries = ['', '?status=completed', '?agentId=bench', '?agentId=bench&status=completed']
const slowerMax = 1.5
/** Lists with filters. Every thousandth task has the first tag, and every second task has the second one. */
const scans = [
  '?tag=kind:rare',
  '?tag=kind:common',
  '?createdBefore=2020-01-01T00:00:00Z',
  '?createdAfter=2020-01-01T00:00:00Z',
  '?status=failed',
  '?endpointId=bench.noop',
  '?search=nowhere',
]
const scanTimes = 3

/**
 * Measures the latency of a page of one user's tasks, with few tasks and with very many. With very many, also measures
 * the CPU time of lists that read many rows, and how long these lists delay other requests.
 */
export const measureLists: Measure = async ({ isQuick, template, users }) => {
  const many = isQuick ? 50_000 : 1_000_000
  const [user, other] = users
  const scanned: Row[] = []
  const requests = isQuick ? 500 : 3000

  const list = async (count: number): Promise<number[]> => {
    const withTasks = mkdtempSync(join(tmpdir(), 'errand-bench-lists-'))
    cpSync(template, withTasks, { recursive: true })
    insertTasks(withTasks, { users: [user!], count, status: 'completed', tagsOf })
    const server = await startServer('errand', { template: withTasks })
    rmSync(withTasks, { recursive: true, force: true })
    const medians: number[] = []
    for (const query of queries) {
      const request = requestBytes('GET', `/api/tasks${query}`, { key: user!.key })
      let sent = 0
      const next = () => (sent++ < requests ? request : undefined)
      await drive({ url: server.url, connections: 1, next })
      sent = 0
      medians.push((await drive({ url: server.url, connections: 1, next })).p50Ms)
    }
    if (count === many) {
      await untilIdle(server)
      scanned.push(...(await scanRows(server, user!, other!)))
    }
    await server.stop()
    return medians
  }
  const short = await list(few)
  const long = await list(many)
  const pages = queries.map((query, index): Row => {
    const ratio = long[index]! / short[index]!
    return {
      what: `GET /api/tasks${query}, ${many.toLocaleString('en')} rows, median`,
      value: long[index]!,
      unit: 'ms',
      against: `${few.toLocaleString('en')} rows`,
      ratio,
      bar: `≤ ${slowerMax}`,
      isMet: ratio <= slowerMax,
    }
  })
  return [...pages, ...scanned]
}

const tagsOf = (index: number) => ({ kind: index % 1000 === 0 ? 'rare' : 'common' })

export async function untilIdle(server: BenchProcess): Promise<void> {
  for (let busy = 1; busy > 0.05;) {
    const before = server.cpuSeconds()
    await sleep(1000)
    busy = server.cpuSeconds() - before
  }
}

async function scanRows(server: BenchServer, user: BenchUser, other: BenchUser): Promise<Row[]> {
  const rows: Row[] = []
  const account = requestBytes('GET', '/api/account', { key: other.key })
  for (const query of scans) {
    const list = requestBytes('GET', `/api/tasks${query}`, { key: user.key })
    let isListing = true
    const others = drive({ url: server.url, connections: 1, next: () => (isListing ? account : undefined) })
    let sent = 0
    const lists = await drive({ url: server.url, connections: 1, next: () => (sent++ < scanTimes ? list : undefined) })
    isListing = false
    const { maxMs } = await others
    // Send no other requests, whose CPU time would count too.
    const before = server.cpuSeconds()
    sent = 0
    await drive({ url: server.url, connections: 1, next: () => (sent++ < scanTimes ? list : undefined) })
    const cpuMs = ((server.cpuSeconds() - before) * 1000) / scanTimes
    rows.push(
      { what: `GET /api/tasks${query}, median`, value: lists.p50Ms, unit: 'ms' },
      atMost({ what: `GET /api/tasks${query}, CPU`, value: cpuMs, unit: 'ms' }, 50),
      atMost({ what: `longest wait of other requests beside ${query}`, value: maxMs, unit: 'ms' }, 10),
    )
  }
  return rows
}
