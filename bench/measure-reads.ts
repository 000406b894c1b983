import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { insertTasks } from './bench-data.ts'
import { atLeast, type Measure } from './bench-table.ts'
import { requestBytes } from './http-driver.ts'
import { pairedRates } from './paired-rates.ts'

const connections = 32
const taskCount = 10_000

/** GET /api/tasks/:id for tasks of many users. */
export const measureReads: Measure = async ({ isQuick, template, users }) => {
  const withTasks = mkdtempSync(join(tmpdir(), 'errand-bench-reads-'))
  cpSync(template, withTasks, { recursive: true })
  const tasks = insertTasks(withTasks, { users, count: taskCount, status: 'completed' })
  const inOrder = tasks.map(({ taskId, user }) => requestBytes('GET', `/api/tasks/${taskId}`, { key: user.key }))
  const requests = inOrder.map((_, index) => inOrder[(index * 7919) % inOrder.length]!)
  const { floor, ours } = await pairedRates(
    { floor: { kind: 'floor-group', requests }, ours: { kind: 'errand', requests } },
    { template: withTasks, connections, rounds: 12, requestsPerRound: isQuick ? 1000 : 10_000 },
  )
  rmSync(withTasks, { recursive: true, force: true })
  const value = ours.perSecond
  return [
    { what: 'floor: GET', value: floor.perSecond, unit: '/s' },
    atLeast(
      { what: 'GET /api/tasks/:id, 32 connections', value, unit: '/s', against: 'floor', ratio: ours.ratioTo(floor) },
      0.65,
    ),
    { what: 'GET against 15,064/s', value, unit: '/s', against: 'BullMQ on Redis', ratio: value / 15_064 },
  ]
}
