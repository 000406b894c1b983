import { insertTasks } from './bench-data.ts'
import { startServer } from './bench-servers.ts'
import type { Measure, Row } from './bench-table.ts'
import { drive, requestBytes, type DriveResult } from './http-driver.ts'

const connections = 8

/**
 * Measures the latency of reads, and of no-op runs on other threads, while an agent blocks its thread for ten seconds.
 * The baseline is the same load without a blocked thread.
 */
export const measureBlocking: Measure = async ({ isQuick, template, users }) => {
  const server = await startServer('errand', { template, env: { ERRAND_AGENT_THREADS: '2' } })
  const [own, blocker, ...others] = users
  const [task] = insertTasks(server.dataDir, { users: [own!], count: 1, status: 'completed' })
  const read = requestBytes('GET', `/api/tasks/${task!.taskId}`, { key: own!.key })
  const total = isQuick ? 4000 : 20_000
  const reads = async (): Promise<DriveResult> => {
    let sent = 0
    return await drive({ url: server.url, connections, next: () => (sent++ < total ? read : undefined) })
  }
  const noop = JSON.stringify({ endpointId: 'bench.noop', params: {} })
  let nextUser = 0
  const runs = async (): Promise<DriveResult> => {
    const ids: string[] = []
    const created = others.slice(nextUser, (nextUser += 50))
    const queue = created.map(({ key }) => requestBytes('POST', '/api/tasks', { key, body: noop }))
    const keep = (body: string) => ids.push((JSON.parse(body) as { taskId: string }).taskId)
    await drive({ url: server.url, connections: 1, next: () => queue.shift(), onBody: keep })
    const waits = ids.map((id, index) => requestBytes('GET', `/api/tasks/${id}?wait=30`, { key: created[index]!.key }))
    return await drive({ url: server.url, connections: 1, next: () => waits.shift() })
  }
  await reads()
  await runs()
  const calm = { reads: await reads(), runs: await runs() }
  const block = JSON.stringify({ endpointId: 'bench.block', params: { ms: 10_000 } })
  const blocking = requestBytes('POST', '/api/tasks', { key: blocker!.key, body: block })
  let blocks = 1
  await drive({ url: server.url, connections: 1, next: () => (blocks-- > 0 ? blocking : undefined) })
  // A thread counts as blocked after two missed heartbeats. Tasks that were sent to it earlier wait for the blocking
  // run.
  await new Promise((resolve) => setTimeout(resolve, 600))
  const blocked = { reads: await reads(), runs: await runs() }
  await server.stop()
  const row = (what: string, now: number, before: number): Row => ({
    what,
    value: now,
    unit: 'ms',
    against: 'the same, nothing blocked',
    ratio: now / before,
  })
  return [
    row('GET p99 while an agent blocks its thread', blocked.reads.p99Ms, calm.reads.p99Ms),
    row('no-op runs on other threads, longest wait', blocked.runs.p99Ms, calm.runs.p99Ms),
  ]
}
