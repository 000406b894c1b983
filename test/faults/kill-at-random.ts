import { rmSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { startProcess, type ServerProcess } from '../support/test-process.ts'
import { newDataDir } from '../support/test-service.ts'
import { Credits } from './credits.ts'
import { EventSink } from './event-sink.ts'
import { checkRows, restartAndCheck, settings } from './fault-invariants.ts'
import { Payments } from './payments.ts'
import { FaultLoad, notedAgents, openRichAccount } from './fault-load.ts'
import { openAccountAt } from './fault-place.ts'
import { Random, reportOn, Tally, type FaultOptions, type FaultReport } from './fault-report.ts'
import { dataDirOf, type DatabasePlace, type Place } from './row-source.ts'
import { demandEqual } from '../support/until.ts'

const killsPerFolder = 10
const failuresMax = 5
const startMs = 900
/** Most failures occur in the first moments after a start. The other kills are spread over three seconds. */
const instants: readonly { share: number; loadMs: number }[] = [
  { share: 0.5, loadMs: 400 },
  { share: 0.8, loadMs: 1000 },
  { share: 1, loadMs: 3000 },
]
const noFigures = {
  kills: 0,
  killedStarts: 0,
  tasks: 0,
  chats: 0,
  credits: 0,
  payments: 0,
  sentTwice: 0,
  foundAtWork: 0,
  events: 0,
}

/**
 * Kills the server with kill -9 at random moments under load, repeatedly on one data directory. Also kills a quarter of
 * the restarts. Each directory has its own seed, so that an interrupted run resumes with the next one. Long runs
 * process two directories at a time.
 */
export function run(options: FaultOptions): Promise<FaultReport> {
  return reportOn('kill-at-random', options, async (tally) => {
    const { earlier, isShort = false, times } = options
    const folders = Math.ceil(times / killsPerFolder)
    const done = (tally.parts = [...(earlier?.parts ?? [])])
    tally.figures = { ...newFigures(), ...earlier?.figures, underWay: 0 }
    tally.tries = earlier?.tries ?? 0
    tally.held = earlier?.held ?? 0
    tally.failures.push(...(earlier?.failures ?? []))
    const left = Array.from({ length: folders }, (_, n) => n).filter((n) => !done.includes(n))
    const killNext = async () => {
      for (let n = left.shift(); n !== undefined && tally.failures.length < failuresMax; n = left.shift()) {
        const kills = Math.min(killsPerFolder, times - n * killsPerFolder)
        await killFolder(tally, { n, kills, isShort })
        done.push(n)
        tally.onProgress()
      }
    }
    await Promise.all(Array.from({ length: isShort ? 1 : 2 }, killNext))
    delete tally.figures.underWay
    tally.notes.push(...killNotes(tally.figures))
  })
}

export function newFigures(): Record<string, number> {
  return { ...noFigures, slowestStartMs: 0, slowestEndMs: 0, itsWaitMs: 0, lateEnds: 0, underWay: 0 }
}

export function killNotes(figures: Record<string, number>): string[] {
  return [
    `${figures.kills} kills under load and ${figures.killedStarts} of a start; acknowledged: ${figures.tasks} tasks, ${figures.chats} chats, ${figures.credits} credits, ${figures.payments} payments; ${figures.sentTwice} requests sent twice; ${figures.events} deliveries`,
    `${figures.foundAtWork} tasks found at work, ended at most ${figures.slowestEndMs} ms after the start of the process, of which it waited ${Math.round(figures.itsWaitMs!)} ms for a processor; ${figures.lateEnds} restarts where that took more than 5 s; the slowest start took ${figures.slowestStartMs} ms`,
  ]
}

type KillFolder = {
  n: number
  kills: number
  isShort: boolean
  /** A PostgreSQL database and the server's environment. Default: a new data directory. */
  database?: { place: DatabasePlace; env: Record<string, string> }
}

/**
 * Kills servers on one data directory. Adds its tries to the total only at the end, because a resumed run repeats an
 * unfinished directory.
 */
export async function killFolder(total: Tally, { database, isShort, kills, n }: KillFolder): Promise<void> {
  const random = new Random(total.random.seed + n)
  const tally = new Tally(random)
  tally.onProgress = () => {
    total.figures!.underWay!++
    total.onProgress()
  }
  const figures = { ...noFigures }
  const place = database?.place ?? newDataDir()
  const dataDir = dataDirOf(place)
  const notes = `${dataDir}.notes`
  const load = await openLoad(place, notes, random)
  const options = { config: notedAgents, env: { ...settings, ...database?.env, ...load.parts.payments!.env } }
  const sink = await EventSink.open()
  let server: ServerProcess | undefined = await startProcess({ dataDir, ...options })
  const { others, payments, poor } = load.parts
  await sink.subscribe(server.url, [load.account, ...others!, poor!.account, payments!.manager])
  for (let kill = 1; kill <= kills && server; kill++) {
    const killed: ServerProcess = server
    server = undefined
    await tally.attempt(`kill ${kill} of directory ${n}`, async () => {
      const loading = load.run(killed.url)
      // A PostgreSQL server needs extra time for the first connection and its query plans.
      await delay(instantMs(random, isShort) + (database ? 500 : 0))
      demandEqual(await killed.end('SIGKILL'), null, 'the exit code of what was killed')
      figures.kills++
      await loading
      if (random.below(4) === 0) {
        figures.killedStarts++
        await killStart(dataDir, { ...options, afterMs: random.next() * startMs })
      }
      server = await restartAndCheck(place, load, options)
      await sink.check(place, { all: false })
    })
  }
  if (server) {
    await tally.attempt(`the stop after the kills of directory ${n}`, async () => {
      // The server resends an event that was in flight during a kill once its lease has expired.
      await sink.check(place, { all: !isShort })
      demandEqual(await server!.end('SIGTERM'), 0, 'the exit code of the last stop')
      load.wholePayloads.clear()
      checkRows(place, load)
    })
  }
  await sink.stop()
  await payments!.stop()
  total.figures!.underWay! -= tally.tries
  addTo(total, tally, { ...figures, ...figuresOf(load), events: sink.received })
  const slowest = total.figures!
  for (const { endedMs, left, startMs: listenedMs, waitedMs } of load.restarts) {
    slowest.slowestStartMs = Math.max(slowest.slowestStartMs!, listenedMs)
    if (left === 0) continue
    if (endedMs > 5000) slowest.lateEnds!++
    if (endedMs > slowest.slowestEndMs!) Object.assign(slowest, { slowestEndMs: endedMs, itsWaitMs: waitedMs })
  }
  // Keeps the directory of a failed try for inspection.
  if (tally.failures.length > 0) return void total.notes.push(`the data directory is kept: ${dataDir}`)
  rmSync(dataDir, { recursive: true, force: true })
  rmSync(notes, { force: true })
}

/** Opens two accounts with ample balance, one that spends its credits, and one that pays. */
export async function openLoad(place: Place, notes: string, random: Random): Promise<FaultLoad> {
  const rich = await openRichAccount(place)
  const others = [await openRichAccount(place, 'second@example.com')]
  const account = await openAccountAt(place, 'poor@example.com', 0)
  return new FaultLoad(rich, random, {
    others,
    notes,
    payments: await Payments.open(place),
    poor: { account, credits: await Credits.open(place, account.userId) },
  })
}

function instantMs(random: Random, isShort: boolean): number {
  const share = random.next()
  const { loadMs } = instants.find((instant) => share < instant.share)!
  return random.next() * (isShort ? Math.min(loadMs, 1000) : loadMs)
}

function figuresOf({ accepted, charged, parts, repeated, restarts }: FaultLoad): Partial<typeof noFigures> {
  return {
    tasks: accepted.size,
    chats: [...charged.values()].reduce((sum, costs) => sum + costs.length, 0),
    credits: parts.poor!.credits.acknowledged.size,
    payments: parts.payments!.credited,
    sentTwice: repeated,
    foundAtWork: restarts.reduce((sum, { left }) => sum + left, 0),
  }
}

function addTo(total: Tally, { failures, held, tries }: Tally, figures: Record<string, number>): void {
  total.tries += tries
  total.held += held
  total.failures.push(...failures)
  for (const [name, count] of Object.entries(figures)) total.figures![name] = (total.figures![name] ?? 0) + count
}

type KilledStart = { config: string; env: Record<string, string>; afterMs: number }

/** Kills a start while it opens the database, recovers or loads its agents. */
async function killStart(dataDir: string, { afterMs, ...options }: KilledStart): Promise<void> {
  const started = startProcess({
    dataDir,
    ...options,
    onSpawn: (child) => void setTimeout(() => child.kill('SIGKILL'), afterMs),
  })
  const server = await started.catch(() => undefined)
  await server?.end('SIGKILL')
}
