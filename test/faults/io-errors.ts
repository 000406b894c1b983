import { rmSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { databaseFile } from '../../server/store/sqlite/database.ts'
import { startProcess } from '../support/test-process.ts'
import { newDataDir } from '../support/test-service.ts'
import { checkRows, restartAndCheck, settings, untilIdle } from './fault-invariants.ts'
import { call, FaultLoad, notedAgents, openRichAccount } from './fault-load.ts'
import { reportOn, type FaultOptions, type FaultReport, type Tally } from './fault-report.ts'
import { demandTracing, injectInto, type Injection } from './tracing.ts'
import { demand, demandEqual, until } from '../support/until.ts'

type Case = { name: string; isOfDatabase: boolean; faults: string[]; mayExit: boolean }

// Only syncs or WAL writes that keep failing leave the state on disk unknown. Then the server may exit, and recovery
// determines the state.
const cases: readonly Case[] = [
  { name: 'no room for writes to the log', isOfDatabase: true, faults: ['pwrite64:error=ENOSPC'], mayExit: false },
  { name: 'every sync of the log fails', isOfDatabase: true, faults: ['fsync,fdatasync:error=EIO'], mayExit: true },
  { name: 'every sync of a payload fails', isOfDatabase: false, faults: ['fsync:error=EIO'], mayExit: false },
  {
    name: 'one sync of the log fails',
    isOfDatabase: true,
    faults: ['fsync,fdatasync:error=EIO:when=3'],
    mayExit: false,
  },
  { name: 'one write to the log fails', isOfDatabase: true, faults: ['pwrite64:error=EIO:when=5'], mayExit: false },
  {
    name: 'every tenth sync of the log fails',
    isOfDatabase: true,
    faults: ['fsync,fdatasync:error=EIO:when=3+10'],
    mayExit: false,
  },
  { name: 'every write to the log fails', isOfDatabase: true, faults: ['pwrite64:error=EIO'], mayExit: true },
  {
    name: 'no room for a sync of a payload',
    isOfDatabase: false,
    faults: ['fsync:error=ENOSPC:when=2+2'],
    mayExit: false,
  },
]

/** Makes writes and syncs of a running server fail for a while, under load. */
export function run(options: FaultOptions): Promise<FaultReport> {
  return reportOn('io-errors', options, async (tally) => {
    demandTracing()
    for (let n = 0; n < options.times; n++)
      await failFor(tally, { ...cases[n % cases.length]!, faultMs: options.isShort ? 400 : 1500 })
  })
}

async function failFor(
  tally: Tally,
  { faultMs, faults, isOfDatabase, mayExit, name }: Case & { faultMs: number },
): Promise<void> {
  const dataDir = newDataDir()
  const load = new FaultLoad(await openRichAccount(dataDir), tally.random, { notes: `${dataDir}.notes` })
  let end = 'lived'
  await tally.attempt(name, async () => {
    let server = await startProcess({ dataDir, config: notedAgents, env: settings })
    const { url } = server
    const stopped = new AbortController()
    let injection: Awaited<ReturnType<typeof injectInto>> | undefined
    try {
      // Enough tasks to include every kind: the payload writer threads start with the first payload.
      for (let n = 0; n < 5; n++) demandEqual(await load.create(url), 200, 'a task before')
      const loading = load.run(url, { refusals: [503], signal: stopped.signal, clients: 5, talkers: 1 })
      const file = databaseFile(dataDir)
      const into: Injection = isOfDatabase
        ? { faults, threads: 'main', paths: [`${file}-wal`] }
        : { faults, threads: 'others' }
      injection = await injectInto(server.child.pid!, into)
      await until('a request is refused or the server exits', 20_000, () => load.refused > 0 || hasExited(server))
      for (const endAt = Date.now() + faultMs; Date.now() < endAt && !hasExited(server); await delay(50)) {
        const read = await call(url, load.account, ['GET', '/api/account']).catch(() => undefined)
        if (read) demandEqual(read.status, 200, 'a read while writes fail')
      }
      await injection.stop()
      injection = undefined
      if (hasExited(server)) {
        end = `exited ${server.child.exitCode}`
        demand(mayExit, `the server went on, but: ${end} ${server.log().slice(-500)}`)
        await loading
        server = await restartAndCheck(dataDir, load, { config: notedAgents })
      } else {
        await until('the service heals', 10_000, async () => (await load.create(url)) === 200)
        stopped.abort()
        await loading
        await load.repeatUnknown(url)
      }
      await untilIdle(dataDir)
      demandEqual(await server.end('SIGTERM'), 0, 'the exit code')
      checkRows(dataDir, load)
    } finally {
      stopped.abort()
      await server.end('SIGKILL')
      await injection?.stop()
    }
  })
  tally.notes.push(`${name}: ${end}, ${load.refused} refused`)
  rmSync(dataDir, { recursive: true, force: true })
  rmSync(`${dataDir}.notes`, { force: true })
}

function hasExited({ child }: Awaited<ReturnType<typeof startProcess>>): boolean {
  return child.exitCode !== null || child.signalCode !== null
}
