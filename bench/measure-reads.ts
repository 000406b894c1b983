import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { insertTasks } from './bench-data.ts'
import { startServer, type ServerKind } from './bench-servers.ts'
import { atLeast, type Measure } from './bench-table.ts'
import { drive, requestBytes } from './http-driver.ts'

const connections = 32
const taskCount = 10_000

/** GET /api/tasks/:id of random tasks of many users. */
export const measureReads: Measure = async ({ isQuick, template, users }) => {
  const withTasks = mkdtempSync(join(tmpdir(), 'errand-bench-reads-'))
  cpSync(template, withTasks, { recursive: true })
  const tasks = insertTasks(withTasks, { users, count: taskCount, status: 'completed' })
  const requests = tasks.map(({ taskId, user }) => requestBytes('GET', `/api/tasks/${taskId}`, { key: user.key }))
  const total = isQuick ? 10_000 : 60_000

  const read = async (kind: ServerKind) => {
    const server = await startServer(kind, { template: withTasks })
    let sent = 0
    const upTo = (end: number) => () => (sent < end ? requests[(sent++ * 7919) % requests.length] : undefined)
    await drive({ url: server.url, connections, next: upTo(total / 3) })
    const result = await drive({ url: server.url, connections, next: upTo(total) })
    await server.stop()
    if (result.statuses[200] !== result.requests) throw new Error(`${kind}: ${JSON.stringify(result.statuses)}`)
    return result.perSecond
  }
  const best = async (kind: ServerKind) => Math.max(await read(kind), await read(kind))
  const floor = await best('floor-group')
  const ours = await best('errand')
  rmSync(withTasks, { recursive: true, force: true })
  return [
    { what: 'floor: GET', value: floor, unit: '/s' },
    atLeast(
      { what: 'GET /api/tasks/:id, 32 connections', value: ours, unit: '/s', against: 'floor', ratio: ours / floor },
      0.65,
    ),
    {
      what: 'GET against 15,064/s',
      value: ours,
      unit: '/s',
      against: 'BullMQ on Redis',
      ratio: ours / 15_064,
    },
  ]
}
