import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ProcessClient } from '../runner/process-client.ts'
import { returnedNames, thrownNames } from '../runner/odd-values.ts'
import { startProcess, type ServerProcess } from '../support/test-process.ts'
import { newDataDir } from '../support/test-service.ts'
import { isInTime } from './busy-machine.ts'
import { checkRows, readRows, unlimited, untilIdle } from './fault-invariants.ts'
import { FaultLoad, openRichAccount } from './fault-load.ts'
import { reportOn, type FaultOptions, type FaultReport } from './fault-report.ts'
import { residentBytes } from './slow-reader.ts'
import { demand, demandEqual, until } from '../support/until.ts'

const config = fileURLToPath(new URL('../runner/rogue-agents.ts', import.meta.url))
const env = { ...unlimited, ERRAND_LOG_LEVEL: 'error', ERRAND_AGENT_THREADS: '1', ERRAND_AGENT_THREAD_MEMORY_MB: '128' }
const overrunMsMax = 5000

type Rogue = { name: string; endpointId: string; params?: object; timeoutMs?: number; ends?: 'completed' | 'failed' }

const rogues: readonly Rogue[] = [
  { name: 'hangs', endpointId: 'rogue.stubborn', timeoutMs: 1000, ends: 'failed' },
  { name: 'blocks its thread', endpointId: 'rogue.spinBriefly', timeoutMs: 1000, ends: 'failed' },
  { name: 'exits', endpointId: 'rogue.exit', ends: 'failed' },
  { name: 'exits by the imported function', endpointId: 'rogue.exitByName', ends: 'failed' },
  { name: 'ends its thread by an error', endpointId: 'rogue.endThread', ends: 'failed' },
  { name: 'aborts the process', endpointId: 'rogue.abort', ends: 'failed' },
  { name: 'runs out of memory', endpointId: 'rogue.memory', ends: 'failed' },
  { name: 'rejects after its end', endpointId: 'rogue.rejectAfterAbort', timeoutMs: 1000, ends: 'failed' },
  { name: 'leaves a throwing timer behind', endpointId: 'rogue.leaveBehind', ends: 'completed' },
  ...['log', 'print', 'reject'].map((what) => ({
    name: `floods (${what})`,
    endpointId: 'rogue.flood',
    params: { what, times: 100_000 },
  })),
  ...thrownNames.map((what) => ({
    name: `throws ${what}`,
    endpointId: 'rogue.throw',
    params: { what },
    ends: 'failed' as const,
  })),
  ...returnedNames.map((what) => ({ name: `returns ${what}`, endpointId: 'rogue.return', params: { what } })),
]

/** Index of the first agent that throws or returns an odd value. */
const oddFrom = rogues.findIndex(({ endpointId }) => endpointId === 'rogue.throw')

/**
 * Runs agents that misbehave in every way, each next to a healthy run. Only their own runs may fail, and nothing may be
 * left behind.
 */
export function run(options: FaultOptions): Promise<FaultReport> {
  return reportOn('rogue-agents', options, async (tally) => {
    const dataDir = newDataDir()
    const account = await openRichAccount(dataDir)
    const server = await startProcess({ dataDir, config, env })
    const client = new ProcessClient(server.url, account.key)
    // The short form uses some of the odd values; test/runner/sqlite/agent-values.test.ts uses all.
    const chosen = rogues.filter((_, n) => !options.isShort || n < oddFrom || n % 5 === 0)
    try {
      await client.runTask('rogue.echo')
      const before = openFiles(server)
      for (let n = 0; n < options.times * chosen.length; n++) {
        const rogue = chosen[n % chosen.length]!
        await tally.attempt(rogue.name, () => runRogue(client, { rogue, dataDir }))
      }
      demandEqual(server.child.exitCode, null, 'the exit code of the server')
      await until('open files return to where they were', 10_000, () => openFiles(server) <= before + 5)
      tally.notes.push(
        `${(residentBytes(server.child.pid!) / 2 ** 20).toFixed(0)} MB resident at the end, ${openFiles(server)} open files (${before} at first)`,
      )
      await untilIdle(dataDir)
      demandEqual(await server.end('SIGTERM'), 0, 'the exit code')
      const load = new FaultLoad(account, tally.random)
      readRows(dataDir, (db) => {
        const ids = db.prepare<[], string>(`SELECT id FROM tasks WHERE status = 'completed'`).pluck().all()
        demand(ids.length > options.times * chosen.length, 'the runs beside them are completed')
      })
      checkRows(dataDir, load, { isAllKnown: false })
    } finally {
      await server.end('SIGKILL')
    }
    rmSync(dataDir, { recursive: true })
  })
}

async function runRogue(client: ProcessClient, { rogue, dataDir }: { rogue: Rogue; dataDir: string }): Promise<void> {
  const { endpointId, ends, name, params = {}, timeoutMs = 60_000 } = rogue
  const begun = join(dataDir, 'begun')
  const ended = await client.runTask(endpointId, endpointId.includes('spin') ? { begun } : params)
  demand(ended.status === 'failed' || ended.status === 'completed', `${name} has ended: ${ended.status}`)
  if (ends) demandEqual(ended.status, ends, `the end of what ${name}`)
  const tookMs = Date.parse(ended.completedAt) - Date.parse(ended.startedAt)
  demand(isInTime(tookMs, timeoutMs + overrunMsMax), `it ended after ${tookMs} ms`)
  const well = await client.runTask('rogue.echo', { still: 'here' })
  demandEqual([well.status, well.response], ['completed', { still: 'here' }], 'the next run')
  const { body } = await client.get(`/api/transactions?taskId=${ended.id}`)
  const types = body.transactions.map(({ type }: { type: string }) => type).toSorted()
  demandEqual(types, ended.status === 'failed' ? ['task_charge', 'task_refund'] : ['task_charge'], 'its transactions')
}

function openFiles({ child }: ServerProcess): number {
  return readdirSync(`/proc/${child.pid}/fd`).length
}
