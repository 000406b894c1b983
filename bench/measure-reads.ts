import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { insertTasks } from './bench-data.ts'
import { atLeast, type Measure } from './bench-table.ts'
import { requestBytes } from './http-driver.ts'
import { pairedRates } from './paired-rates.ts'

const connections = 32
const taskCount = 10_000
const polledCount = 100

/** Measures GET /api/tasks/:id for tasks of many users, and for a few tasks that clients poll. */
export const measureReads: Measure = async ({ isQuick, template, users }) => {
  const withTasks = mkdtempSync(join(tmpdir(), 'errand-bench-reads-'))
  cpSync(template, withTasks, { recursive: true })
  const tasks = insertTasks(withTasks, { users, count: taskCount, status: 'completed' })
  const inOrder = tasks.map(({ taskId, user }) => requestBytes('GET', `/api/tasks/${taskId}`, { key: user.key }))
  const requests = inOrder.map((_, index) => inOrder[(index * 7919) % inOrder.length]!)
  const polled = requests.slice(0, polledCount)
  const { floor, ours, poll, pollFloor } = await pairedRates(
    {
      floor: { kind: 'floor-group', requests },
      ours: { kind: 'errand', requests },
      poll: { kind: 'errand', requests: polled },
      pollFloor: { kind: 'floor-group', requests: polled },
    },
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
    atLeast(
      {
        what: 'GET of a polled task',
        value: poll.perSecond,
        unit: '/s',
        against: 'floor',
        ratio: poll.ratioTo(pollFloor),
      },
      0.8,
    ),
    { what: 'GET against 15,064/s', value, unit: '/s', against: 'BullMQ on Redis', ratio: value / 15_064 },
  ]
}
