import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { setTimeout as delay } from 'node:timers/promises'
import { startProcess, type ServerProcess } from '../support/test-process.ts'
import { newDataDir } from '../support/test-service.ts'
import { checkRows, settings, untilIdle } from './fault-invariants.ts'
import { call, FaultLoad, openRichAccount } from './fault-load.ts'
import { reportOn, type FaultOptions, type FaultReport } from './fault-report.ts'
import { demand, demandEqual, until } from '../support/until.ts'

const config = fileURLToPath(new URL('../connectors/run-agents.ts', import.meta.url))

type Bad = { name: string; server: string; tool?: string; endpointId?: string; ends: 'completed' | 'failed' }

const bad: readonly Bad[] = [
  { name: 'is not there', server: 'missing', ends: 'failed' },
  { name: 'exits before initialize', server: 'exit', ends: 'failed' },
  { name: 'prints garbage', server: 'garbage', ends: 'failed' },
  { name: 'never answers', server: 'no-answer', endpointId: 'code.brief', ends: 'failed' },
  { name: 'exits in the middle of a call', server: 'serve', tool: 'exit', ends: 'completed' },
  { name: 'prints garbage in the middle of a call', server: 'serve', tool: 'garbage', ends: 'completed' },
  { name: 'hangs in a call', server: 'serve', tool: 'hang', endpointId: 'code.brief', ends: 'completed' },
  { name: 'leaves a stubborn child behind', server: 'serve', tool: 'spawn', ends: 'completed' },
]

/**
 * Runs MCP servers that misbehave. Only their own runs may fail, and none of their processes or children may remain.
 */
export function run(options: FaultOptions): Promise<FaultReport> {
  return reportOn('mcp-servers', options, async (tally) => {
    const dataDir = newDataDir()
    const load = new FaultLoad(await openRichAccount(dataDir), tally.random)
    const server = await startProcess({ dataDir, config, env: settings })
    try {
      const connectors = new Map<string, string>()
      for (const name of new Set(bad.map((one) => one.server))) {
        const { body, status } = await call(server.url, load.account, [
          'POST',
          '/api/connectors',
          { name, server: name },
        ])
        demandEqual(status, 200, `the connector ${name}`)
        connectors.set(name, body.id)
      }
      for (let n = 0; n < options.times * bad.length; n++) {
        const one = bad[n % bad.length]!
        await tally.attempt(one.name, () => useBad(server, load, { ...one, connectorId: connectors.get(one.server)! }))
      }
      await untilIdle(dataDir)
      checkRows(dataDir, load, { isAllKnown: false })
      await tally.attempt('kill -9 of Errand in the middle of a call', async () => {
        const params = { calls: [{ name: 'hang' }] }
        const connectorIds = [connectors.get('serve')!]
        await call(server.url, load.account, ['POST', '/api/tasks', { endpointId: 'code.call', params, connectorIds }])
        await until('the MCP server runs', 10_000, () => serversOf(server).length > 0)
        await delay(200)
        await server.end('SIGKILL')
        await until('the MCP server has ended', 10_000, () => serversOf(server).length === 0)
      })
    } finally {
      await server.end('SIGKILL')
    }
    rmSync(dataDir, { recursive: true })
  })
}

async function useBad(server: ServerProcess, load: FaultLoad, one: Bad & { connectorId: string }): Promise<void> {
  const { connectorId, endpointId = 'code.call', ends, tool } = one
  const params = { calls: tool === undefined ? [] : [{ name: tool }] }
  const body = { endpointId, params, connectorIds: [connectorId] }
  const created = await call(server.url, load.account, ['POST', '/api/tasks', body])
  const ended = await call(server.url, load.account, ['GET', `/api/tasks/${created.body.taskId}?wait=40`])
  demandEqual(ended.body.status, ends, `the run (${JSON.stringify(ended.body.error)})`)
  await until('no MCP server is left', 10_000, () => serversOf(server).length === 0)
  demandEqual(server.child.exitCode, null, 'the exit code of Errand')
  const next = await call(server.url, load.account, ['POST', '/api/tasks', { endpointId: 'code.echo', params: {} }])
  const well = await call(server.url, load.account, ['GET', `/api/tasks/${next.body.taskId}?wait=20`])
  demand(well.body.status === 'completed', 'the next run is well')
}

/** Returns the processes with the mark of this server's MCP configuration, and their children. */
function serversOf({ child }: ServerProcess): string[] {
  return readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid)) return false
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(`errand-test-${child.pid}\0`)
    } catch {
      return false
    }
  })
}
