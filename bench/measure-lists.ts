import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { insertTasks } from './bench-data.ts'
import { startServer } from './bench-servers.ts'
import type { Measure, Row } from './bench-table.ts'
import { drive, requestBytes } from './http-driver.ts'

const few = 1000
const queries = ['', '?status=completed', '?agentId=bench', '?agentId=bench&status=completed']
const slowerMax = 1.5

/** Latency of a page of one user's tasks, once when that user has few tasks and once with very many. */
export const measureLists: Measure = async ({ isQuick, template, users }) => {
  const many = isQuick ? 50_000 : 1_000_000
  const [user] = users
  const requests = isQuick ? 500 : 3000

  const list = async (count: number): Promise<number[]> => {
    const withTasks = mkdtempSync(join(tmpdir(), 'errand-bench-lists-'))
    cpSync(template, withTasks, { recursive: true })
    insertTasks(withTasks, { users: [user!], count, status: 'completed' })
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
    await server.stop()
    return medians
  }
  const short = await list(few)
  const long = await list(many)
  return queries.map((query, index): Row => {
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
}
