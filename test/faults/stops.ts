import { rmSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { startProcess } from '../support/test-process.ts'
import { newDataDir } from '../support/test-service.ts'
import { restartAndCheck, settings } from './fault-invariants.ts'
import { FaultLoad, notedAgents, openRichAccount } from './fault-load.ts'
import { reportOn, type FaultOptions, type FaultReport } from './fault-report.ts'
import { demandEqual, within } from '../support/until.ts'

const drainMsMax = 15_000

/** Sends SIGTERM at a random moment under load, during tasks and streams: once, twice, or followed by kill -9. */
export function run(options: FaultOptions): Promise<FaultReport> {
  return reportOn('stops', options, async (tally) => {
    const dataDir = newDataDir()
    const load = new FaultLoad(await openRichAccount(dataDir), tally.random, { notes: `${dataDir}.notes` })
    let server = await startProcess({ dataDir, config: notedAgents, env: settings })
    for (let n = 0; n < options.times; n++) {
      const way = ['once', 'twice', 'then kill -9'][n % 3]!
      const held = await tally.attempt(`stop ${n + 1}, ${way}`, async () => {
        load.cut = 0
        const loading = load.run(server.url, { refusals: [503] })
        await delay(100 + tally.random.next() * 900)
        const ended = server.end('SIGTERM')
        if (way !== 'once') await delay(tally.random.next() * 150)
        if (way === 'twice') void server.end('SIGTERM')
        if (way === 'then kill -9') void server.end('SIGKILL')
        const code = await within('the drain', drainMsMax, ended)
        await within('clients are let go', 5000, loading)
        if (way !== 'then kill -9') {
          demandEqual(code, 0, 'the exit code')
          demandEqual(load.cut, 0, 'streams without their last line')
        }
        server = await restartAndCheck(dataDir, load, { config: notedAgents })
      })
      if (!held) return void (await server.end('SIGKILL'))
    }
    demandEqual(await server.end('SIGTERM'), 0, 'the exit code')
    tally.notes.push(`${load.accepted.size} tasks acknowledged, ${load.refused} refused`)
    rmSync(dataDir, { recursive: true })
    rmSync(`${dataDir}.notes`, { force: true })
  })
}
