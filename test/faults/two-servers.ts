import type { ChildProcess } from 'node:child_process'
import { rmSync } from 'node:fs'
import { startProcess } from '../support/test-process.ts'
import { newDataDir } from '../support/test-service.ts'
import { restartAndCheck, settings } from './fault-invariants.ts'
import { FaultLoad, notedAgents, openRichAccount } from './fault-load.ts'
import { reportOn, type FaultOptions, type FaultReport } from './fault-report.ts'
import { machineSlowness, waitedForProcessor } from './busy-machine.ts'
import { demand, demandEqual } from '../support/until.ts'

const refusalMsMax = 2000

const lookEveryMs = 20

/** Starts a server that must exit. Returns its output, and how long it waited for a CPU before it exited. */
async function startRefused(dataDir: string): Promise<{ refusal: string; waitedMs: number }> {
  let waitedMs = 0
  let timer: NodeJS.Timeout | undefined
  const onSpawn = (child: ChildProcess) => {
    timer = setInterval(() => (waitedMs = Math.max(waitedMs, waitedForProcessor(child))), lookEveryMs)
  }
  const start = startProcess({ dataDir, config: notedAgents, env: settings, onSpawn })
  const refusal = await start.then(
    () => 'it serves',
    (error: Error) => error.message,
  )
  clearInterval(timer)
  return { refusal, waitedMs }
}

/**
 * Starts servers on the data directory of a running one. Each must exit, and must take over once the first is killed.
 */
export function run(options: FaultOptions): Promise<FaultReport> {
  return reportOn('two-servers', options, async (tally) => {
    const dataDir = newDataDir()
    const load = new FaultLoad(await openRichAccount(dataDir), tally.random, { notes: `${dataDir}.notes` })
    let first = await startProcess({ dataDir, config: notedAgents, env: settings })
    const tookMs: number[] = []
    for (let n = 0; n < options.times; n++) {
      const held = await tally.attempt(`second server ${n + 1}`, async () => {
        const stopped = new AbortController()
        const loading = load.run(first.url, { signal: stopped.signal, clients: 2, talkers: 1 })
        const startedAt = performance.now()
        const second = await startRefused(dataDir)
        const ms = Math.round(performance.now() - startedAt)
        tookMs.push(ms)
        const allowedMs = ms <= refusalMsMax ? ms : refusalMsMax * machineSlowness() + second.waitedMs
        demand(ms <= allowedMs, `it was refused after ${ms} ms, where ${allowedMs} are allowed`)
        demandEqual(
          second.refusal,
          `the server exited with 1: errand: Another Errand server is using the data directory ${dataDir}. Stop it, or choose another directory with --data.\n`,
          'the refusal',
        )
        demandEqual(await load.create(first.url), 200, 'the first server goes on')
        stopped.abort()
        await first.end('SIGKILL')
        await loading
        first = await restartAndCheck(dataDir, load, { config: notedAgents })
      })
      if (!held) return void (await first.end('SIGKILL'))
    }
    demandEqual(await first.end('SIGTERM'), 0, 'the exit code')
    tally.notes.push(`refused within ${Math.max(...tookMs)} ms`)
    rmSync(dataDir, { recursive: true })
    rmSync(`${dataDir}.notes`, { force: true })
  })
}
