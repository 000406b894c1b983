import {
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { newDataDir } from '../support/test-service.ts'
import { restartAndCheck, settings } from './fault-invariants.ts'
import { FaultLoad, notedAgents, openRichAccount } from './fault-load.ts'
import { compilePreload } from './compile-preload.ts'
import { reportOn, type FaultOptions, type FaultReport, type Random } from './fault-report.ts'
import { demandEqual } from '../support/until.ts'

const pageBytes = 4096
const lossesPerFolder = 20

/**
 * Simulates a power loss at random moments under load: the next server starts with only the synced data. In every
 * second power loss, the disk also keeps random unsynced pages.
 */
export function run(options: FaultOptions): Promise<FaultReport> {
  return reportOn('power-loss', options, async (tally) => {
    const { isShort = false, times } = options
    const loadMsMax = isShort ? 800 : 2500
    const folder = newDataDir()
    const library = compilePreload('power-loss', folder)
    let accepted = 0
    while (tally.tries < times && tally.failures.length === 0) {
      let dataDir = join(folder, `disk-${tally.tries}`)
      // Keeps the agents' notes outside of the data directory, as if on another disk.
      const notes = `${dataDir}.notes`
      const load = new FaultLoad(await openRichAccount(dataDir), tally.random, { notes })
      const start = (disk: string) => ({ env: mirrored(disk, library), config: notedAgents })
      let server = await restartAndCheck(dataDir, load, start(dataDir))
      const until = Math.min(times, tally.tries + lossesPerFolder)
      while (tally.tries < until) {
        const lost = dataDir
        const held = await tally.attempt(`loss ${tally.tries + 1}`, async () => {
          const loading = load.run(server.url)
          await delay(tally.random.next() * loadMsMax)
          await server.end('SIGKILL')
          await loading
          dataDir = mirrorOf(lost)
          if (tally.tries % 2 === 0) keepSomePages({ lost, kept: dataDir, random: tally.random })
          server = await restartAndCheck(dataDir, load, start(dataDir))
        })
        if (!held) return void tally.notes.push(`the disks are kept: ${folder}`)
        rmSync(lost, { recursive: true })
      }
      demandEqual(await server.end('SIGTERM'), 0, 'the exit code of the last stop')
      accepted += load.accepted.size
    }
    tally.notes.push(`${accepted} tasks acknowledged`)
    rmSync(folder, { recursive: true })
  })
}

function mirrorOf(dataDir: string): string {
  return `${dataDir}+`
}

/**
 * Returns the environment of a server that mirrors its syncs. The mirror starts as a copy of the stopped server's data.
 */
function mirrored(dataDir: string, library: string): Record<string, string> {
  const mirror = mirrorOf(dataDir)
  const contents = `${mirror}.contents`
  rmSync(`${dataDir}.contents`, { recursive: true, force: true })
  mkdirSync(mirror)
  mkdirSync(contents)
  for (const name of readdirSync(dataDir, { recursive: true, encoding: 'utf8' })) {
    const found = statSync(join(dataDir, name))
    if (found.isDirectory()) mkdirSync(join(mirror, name), { recursive: true })
    else {
      mkdirSync(dirname(join(mirror, name)), { recursive: true })
      copyFileSync(join(dataDir, name), join(contents, String(found.ino)))
      linkSync(join(contents, String(found.ino)), join(mirror, name))
    }
  }
  return { ...settings, LD_PRELOAD: library, MIRROR_FROM: dataDir, MIRROR_TO: mirror }
}

/** Keeps random pages that were written but not synced, as a disk may do. */
function keepSomePages({ lost, kept, random }: { lost: string; kept: string; random: Random }): void {
  for (const name of ['errand.db', 'errand.db-wal']) {
    if (!existsSync(join(lost, name)) || !existsSync(join(kept, name))) continue
    const written = readFileSync(join(lost, name))
    const synced = readFileSync(join(kept, name))
    const pages: Buffer[] = []
    const end = Math.max(synced.length, random.below(written.length + 1))
    for (let at = 0; at < end; at += pageBytes) {
      const isKept = at >= synced.length || random.below(2) === 0
      const page = (isKept ? written : synced).subarray(at, at + pageBytes)
      pages.push(page.length > 0 ? page : synced.subarray(at, at + pageBytes))
    }
    writeFileSync(join(kept, name), Buffer.concat(pages))
  }
}
