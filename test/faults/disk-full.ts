import { spawnSync } from 'node:child_process'
import { closeSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { startProcess } from '../support/test-process.ts'
import { newDataDir } from '../support/test-service.ts'
import { checkRows, restartAndCheck, settings, untilIdle } from './fault-invariants.ts'
import { call, FaultLoad, notedAgents, openRichAccount } from './fault-load.ts'
import { CannotRun } from '../support/test-parts.ts'
import { reportOn, type FaultOptions, type FaultReport, type Tally } from './fault-report.ts'
import { demand, demandEqual, until } from '../support/until.ts'

const diskMb = 24
const fullMs = 1500

/** Fills a separate disk under load and then frees space. Also kills a server while its disk is full. */
export function run(options: FaultOptions): Promise<FaultReport> {
  return reportOn('disk-full', options, async (tally) => {
    for (let n = 0; n < options.times; n++) {
      const dataDir = newDataDir()
      const mount = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${diskMb}m`, 'errand-fault', dataDir])
      if (mount.status !== 0) throw new CannotRun('mount', `mounting a small tmpfs: ${String(mount.stderr).trim()}`)
      try {
        await fillUp(tally, { dataDir, isKilled: n % 2 === 1 })
      } finally {
        spawnSync('umount', ['-l', dataDir])
        rmSync(dataDir, { recursive: true })
        rmSync(`${dataDir}.notes`, { force: true })
      }
    }
  })
}

async function fillUp(tally: Tally, { dataDir, isKilled }: { dataDir: string; isKilled: boolean }): Promise<void> {
  const load = new FaultLoad(await openRichAccount(dataDir), tally.random, { notes: `${dataDir}.notes` })
  await tally.attempt(isKilled ? 'killed while the disk is full' : 'the disk is full for a while', async () => {
    const server = await startProcess({ dataDir, config: notedAgents, env: settings })
    const { url } = server
    const get = (path: string) => call(url, load.account, ['GET', path])
    const stopped = new AbortController()
    try {
      demandEqual(await load.create(url), 200, 'a task before')
      const known = [...load.accepted.keys()][0]!
      const loading = load.run(url, { refusals: [503], signal: stopped.signal, clients: 4, talkers: 1 })
      await delay(200)
      const ballast = join(dataDir, 'ballast')
      fillDisk(ballast)
      await until('a request is refused', 30_000, () => load.refused > 0)
      for (const endAt = Date.now() + fullMs; Date.now() < endAt; await delay(50)) {
        demandEqual((await get(`/api/tasks/${known}`)).status, 200, 'a read on a full disk')
        demandEqual((await get('/api/account')).status, 200, 'a read of the account on a full disk')
      }
      if (isKilled) await server.end('SIGKILL')
      rmSync(ballast)
      if (!isKilled) {
        await until('the service heals', 10_000, async () => (await load.create(url)) === 200)
        stopped.abort()
      }
      await loading
      if (isKilled) {
        const again = await restartAndCheck(dataDir, load, { config: notedAgents })
        demandEqual(await again.end('SIGTERM'), 0, 'the exit code')
      } else {
        await load.repeatUnknown(url)
        await untilIdle(dataDir)
        demandEqual(await server.end('SIGTERM'), 0, 'the exit code')
        checkRows(dataDir, load)
      }
      demand(load.refused > 0, 'something was refused')
    } finally {
      stopped.abort()
      await server.end('SIGKILL')
    }
  })
  tally.notes.push(`${load.refused} requests refused, ${load.accepted.size} acknowledged`)
}

/** Uses up the free space to the last page. */
function fillDisk(ballast: string): void {
  const page = Buffer.alloc(4096)
  const file = openSync(ballast, 'w')
  try {
    for (;;) writeSync(file, page)
  } catch (error) {
    demand(error instanceof Error && 'code' in error && error.code === 'ENOSPC', String(error))
  } finally {
    closeSync(file)
  }
}
