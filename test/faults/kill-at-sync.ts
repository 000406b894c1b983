import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { startProcess } from '../support/test-process.ts'
import { newDataDir } from '../support/test-service.ts'
import { restartAndCheck, settings } from './fault-invariants.ts'
import { FaultLoad, notedAgents, openRichAccount } from './fault-load.ts'
import { reportOn, type FaultOptions, type FaultReport } from './fault-report.ts'
import { demandTracing, injecting } from './tracing.ts'
import { demand, demandEqual } from '../support/until.ts'

const loadMsMax = 20_000
/** A start makes about twenty syncs, so with this step a few kills come after the start. */
const shortStep = 14

/**
 * Kills the server at its Nth sync, for every N: first during startup, then while it handles tasks, chats and
 * payloads.
 */
export function run(options: FaultOptions): Promise<FaultReport> {
  return reportOn('kill-at-sync', options, async (tally) => {
    demandTracing()
    let inStart = 0
    for (let n = 0; n < options.times; n++) {
      const nth = 1 + n * (options.isShort ? shortStep : 1)
      await tally.attempt(`sync ${nth}`, async () => {
        const dataDir = newDataDir()
        const load = new FaultLoad(await openRichAccount(dataDir), tally.random, { notes: join(dataDir, 'notes') })
        const under = injecting('fsync,fdatasync', 'signal=KILL', nth)
        const server = await startProcess({ dataDir, config: notedAgents, env: settings, under }).catch(() => undefined)
        if (!server) inStart++
        else {
          const loading = load.run(server.url)
          const isOver = await Promise.race([loading.then(() => true), delay(loadMsMax, false, { ref: false })])
          if (!isOver) await server.end('SIGKILL')
          await loading
          demandEqual(isOver, true, `the load came to ${nth} syncs`)
          await server.end('SIGKILL')
        }
        const again = await restartAndCheck(dataDir, load, { config: notedAgents })
        demandEqual(await again.end('SIGTERM'), 0, 'the exit code of the last stop')
        rmSync(dataDir, { recursive: true })
      })
    }
    demand(inStart < options.times, 'some were under load')
    tally.notes.push(`${inStart} before the server listened`)
  })
}
