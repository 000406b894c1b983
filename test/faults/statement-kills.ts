import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startProcess } from '../support/test-process.ts'
import { newDataDir } from '../support/test-service.ts'
import { restartAndCheck, settings } from './fault-invariants.ts'
import { FaultLoad, notedAgents, openRichAccount } from './fault-load.ts'
import { Payments } from './payments.ts'
import { reportOn, type FaultOptions, type FaultReport } from './fault-report.ts'
import { demand, demandEqual, within } from '../support/until.ts'

const killer = fileURLToPath(new URL('./kill-at-statement.ts', import.meta.url))
const preloaded = { ...settings, NODE_OPTIONS: `--import=${killer}` }
const killMsMax = 60_000
const stepsMax = 400

/**
 * Kills a server with kill -9 before or right after one of its first steps under load, chosen at random: a BEGIN, a
 * savepoint, a row, a COMMIT, or a payload's sync. Needs no tools other than Node.
 */
export function run(options: FaultOptions): Promise<FaultReport> {
  return reportOn('kill-at-statement', options, async (tally) => {
    const { random } = tally
    let accepted = 0
    let paid = 0
    let inStart: number | undefined
    for (let n = 0; n < options.times; n++) {
      await tally.attempt(`kill ${n + 1}`, async () => {
        const dataDir = newDataDir()
        const notes = join(dataDir, 'notes')
        const payments = await Payments.open(dataDir)
        const load = new FaultLoad(await openRichAccount(dataDir), random, { notes, payments })
        inStart ??= await countStart(dataDir)
        const env = {
          ...preloaded,
          ...payments.env,
          KILL_AT_STATEMENT: String(inStart + 1 + random.below(stepsMax)),
          KILL_WHEN: n % 2 === 0 ? 'before' : 'after',
        }
        const server = await startProcess({ dataDir, env, config: notedAgents })
        await within('the server is killed', killMsMax, load.run(server.url))
        demandEqual(await server.end('SIGKILL'), null, 'the exit code of what was killed')
        demandEqual(server.child.signalCode, 'SIGKILL', 'what ended it')
        const again = await restartAndCheck(dataDir, load, {
          config: notedAgents,
          env: { ...settings, ...payments.env },
        })
        demandEqual(await again.end('SIGTERM'), 0, 'the exit code of the last stop')
        await payments.stop()
        accepted += load.accepted.size
        paid += payments.credited
        rmSync(dataDir, { recursive: true })
      })
    }
    demand(accepted > 0 || tally.failures.length > 0, 'tasks were acknowledged before the kills')
    tally.notes.push(`${accepted} tasks acknowledged, ${paid} top-ups paid`)
  })
}

async function countStart(dataDir: string): Promise<number> {
  const file = join(dataDir, 'counted')
  const server = await startProcess({ dataDir, env: { ...preloaded, COUNT_STATEMENTS: file }, config: notedAgents })
  const counted = Number(readFileSync(file, 'utf8'))
  await server.end('SIGKILL')
  rmSync(file)
  return counted
}
