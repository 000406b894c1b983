import { spawnSync } from 'node:child_process'
import { startServer } from './bench-servers.ts'
import { atMost, type Measure } from './bench-table.ts'
import { drive, requestBytes } from './http-driver.ts'
import { median } from './paired-rates.ts'

const runs = 5

/** Measures the time from the process start to the first response, minus the startup time of Node itself. */
export const measureStart: Measure = async ({ template, users }) => {
  const beyond: number[] = []
  for (let run = 0; run < runs; run++) {
    const bareFrom = performance.now()
    spawnSync(process.execPath, ['-e', '0'])
    const bareMs = performance.now() - bareFrom
    const server = await startServer('errand', { template })
    const from = performance.now()
    let requests = 1
    const request = requestBytes('GET', '/api/account', { key: users[0]!.key })
    await drive({ url: server.url, connections: 1, next: () => (requests-- > 0 ? request : undefined) })
    beyond.push(server.startedInMs + performance.now() - from - bareMs)
    await server.stop()
  }
  const value = median(beyond)
  return [atMost({ what: 'cold start to the first answer, beyond Node itself', value, unit: 'ms' }, 1000)]
}
