import type { ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { ProcessorShare } from '../run/processor-time.ts'
import { startProcess, type ServerProcess } from '../support/test-process.ts'
import { newDataDir } from '../support/test-service.ts'
import { demand, demandEqual, until, within } from '../support/until.ts'
import { waitedForProcessor } from './busy-machine.ts'
import { FaultDatabase } from './fault-database.ts'
import { checkRows, untilIdle } from './fault-invariants.ts'
import { FaultLoad } from './fault-load.ts'
import { databaseEnv, newDatabasePlace } from './fault-place.ts'
import { reportOn, type FaultOptions, type FaultReport, type Tally } from './fault-report.ts'
import { ForkedProcess } from './forked-process.ts'
import { openAccounts, topUpAll, type HostileAccounts } from './hostile-accounts.ts'
import type { AttackOrder, AttackPhase, FromAttackers } from './hostile-attackers.ts'
import { attacks, type AttackName } from './hostile-attacks.ts'
import type { HonestAnswer, HonestKind, HonestOutcome } from './hostile-honest.ts'
import type { HostileServers } from './hostile-servers.ts'
import type { Watched } from './hostile-watch.ts'
import { PostgresRows } from './postgres-rows.ts'
import { countRows, dataDirOf, readPlace, type Place } from './row-source.ts'
import { residentBytes } from './slow-reader.ts'

const config = fileURLToPath(new URL('./hostile-agents.ts', import.meta.url))
/** Settings of the Dockerfile, or those of `npm run errand` and the systemd unit if the library is not installed. */
const memoryEnv = {
  LD_PRELOAD: 'libjemalloc.so.2',
  MALLOC_CONF: 'narenas:2,dirty_decay_ms:3000,muzzy_decay_ms:0,background_thread:true',
  MALLOC_ARENA_MAX: '2',
  MALLOC_MMAP_THRESHOLD_: '131072',
}
const memoryOption = '--max-semi-space-size=4'
const watch = fileURLToPath(new URL('./hostile-watch.ts', import.meta.url))
/** Limit on CPU time. Delays by the disk or other programs are reported but not judged. */
const loopMsMax = 100
const grownMbMax = 100
const honestP99MsMax = 250
const residentEveryMs = 200
/** Reporting interval of the watch. */
const tellMs = 500
const restMs = 3000
const endMsMax = 120_000
/** V8 returns unused pages about a minute after a burst of work. */
const settleMs = 180_000
/** Maximum memory after the attacks, relative to the warm-up. */
const residentShareMax = 1.1
const processesEndMsMax = 20_000
/** Number of attacks per phase in the short form. */
const shortTogether = 6
/** Share of the run for attacks one at a time. In the rest, all of them run together. */
const aloneShareMax = 0.4
const aloneMsMax = 25_000
const names = Object.keys(attacks) as AttackName[]

/** Runs every attack alone, then all together, for `times` minutes on SQLite, while ten honest users work. */
export function run(options: FaultOptions): Promise<FaultReport> {
  return reportOn('hostile', options, async (tally) => {
    const place = newDataDir()
    await beHostile({ place, env: {}, options, tally })
    if (tally.failures.length === 0) rmSync(place, { recursive: true })
  })
}

export function runPostgres(options: FaultOptions): Promise<FaultReport> {
  return reportOn('hostile-postgres', options, async (tally) => {
    const database = await FaultDatabase.start({ isDurable: true })
    const place = await newDatabasePlace(database)
    try {
      await beHostile({ place, env: databaseEnv(place), options, tally })
    } finally {
      PostgresRows.of(place.databaseUrl).close()
      await database.stop()
    }
    if (tally.failures.length === 0) rmSync(place.dataDir, { recursive: true })
  })
}

type Hostile = { place: Place; env: Record<string, string>; options: FaultOptions; tally: Tally }

async function beHostile({ env, options, place, tally }: Hostile): Promise<void> {
  const { isShort = false, times } = options
  const mark = randomUUID()
  const children: ForkedProcess[] = []
  const share = new ProcessorShare(mark)
  let server: ServerProcess | undefined
  try {
    const forked = { ...process.env, HOSTILE_RUN: mark }
    const honest = new ForkedProcess('hostile-honest', forked)
    const attackers = new ForkedProcess('hostile-attackers', forked)
    children.push(honest, attackers)
    const { providerUrl } = await honest.next<{ providerUrl: string }>()
    const { servers } = await attackers.next<{ servers: HostileServers }>()
    const accounts = await openAccounts(place)
    const watchFile = join(dataDirOf(place), 'hostile-watch.jsonl')
    const serverEnv = {
      ...env,
      HOSTILE_RUN: mark,
      ...memoryEnv,
      NODE_OPTIONS: `${process.env['NODE_OPTIONS'] ?? ''} ${memoryOption} --import ${watch}`,
      ERRAND_LOG_LEVEL: 'error',
      ERRAND_CONNECTOR_PRIVATE_HOSTS: servers.mcpHost,
      HOSTILE_PROVIDER_URL: servers.providerUrl,
      HOSTILE_AGENT_URL: servers.agentUrl,
      HOSTILE_NAME_SERVER: servers.nameServer,
      HOSTILE_WATCH_FILE: watchFile,
      HONEST_PROVIDER_URL: providerUrl,
    }
    server = await startProcess({ dataDir: dataDirOf(place), config, env: serverEnv })
    const { url } = server
    const memory = new ResidentMemory(server.child)
    honest.send({ url, keys: accounts.honest.map(({ key }) => key) })
    attackers.send({ type: 'order', url, isShort, users: accounts.attackers } satisfies AttackOrder)
    const run = new HostileRun({ attackers, memory, server, tally, watchFile })
    const totalMs = isShort ? 24_000 : times * 60_000
    await run.rest('warm-up', isShort ? 1500 : Math.min(30_000, totalMs / 10))
    // On a busy machine a phase lasts as long as its slowest attack, so the short form has fewer phases.
    const together = isShort ? shortTogether : 1
    const phaseMs = Math.min(aloneMsMax, (totalMs * aloneShareMax) / names.length) * together
    for (let n = 0; n < names.length; n += together) {
      const some = names.slice(n, n + together)
      await run.attack(some.join(', '), some, phaseMs, isShort ? 100 : restMs)
    }
    const restOfMs = isShort ? totalMs * (1 - aloneShareMax) : totalMs - run.tookMs
    const topUp = setInterval(() => void topUpAll(place, accounts.poor), 60_000)
    await run.attack('all at once', names, Math.max(10_000, restOfMs), 0).finally(() => clearInterval(topUp))
    await run.rest('afterwards', isShort ? 500 : settleMs)
    honest.send('stop')
    const outcome = await within('the honest users end', endMsMax, honest.next<HonestOutcome>())
    for (const child of children) await child.end()
    memory.stop()
    run.judge(outcome, isShort)
    const allocator = readFileSync(`/proc/${server.child.pid}/maps`, 'latin1').includes('jemalloc')
      ? 'jemalloc'
      : 'glibc'
    tally.notes.push(
      `allocator: ${allocator}`,
      `${availableParallelism()} processors for all; others took ${Math.round(share.ofOthers() * 100)} % of the processors; the serving thread waited for one for ${Math.round(waitedForProcessor(server.child) / 1000)} s; the honest users' process was at most ${outcome.lateMsMax} ms late`,
      ...memory.byMinute(),
    )
    await tally.attempt('rows after the attacks', async () => {
      await untilIdle(place)
      await until('every chat is settled', endMsMax, () =>
        readPlace(place, (rows) => countRows(rows, 'turns WHERE settled_at IS NULL') === 0),
      )
      checkRows(place, loadOf(accounts.honest, outcome, tally), { isAllKnown: false })
    })
    await tally.attempt('SIGTERM', async () => {
      demandEqual(await server!.end('SIGTERM'), 0, 'the exit code')
      await until('no process of the run is left', processesEndMsMax, () => processesOf(mark).length === 0)
    })
  } finally {
    share.stop()
    for (const child of children) await child.end()
    await server?.end('SIGKILL')
  }
}

/** Returns the processes with the mark in their environment or, for connector servers, in their arguments. */
function processesOf(mark: string): string[] {
  return readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid)) return false
    try {
      return ['environ', 'cmdline'].some((file) => readFileSync(`/proc/${pid}/${file}`, 'latin1').includes(mark))
    } catch {
      return false
    }
  })
}

function loadOf(
  honest: HostileAccounts['honest'],
  { charged, taskIds, wrong }: HonestOutcome,
  { random }: Tally,
): FaultLoad {
  const load = new FaultLoad(honest[0]!, random)
  for (const [id, user] of taskIds) {
    load.accepted.set(id, 'test.echo')
    load.owners.set(id, honest[user]!.userId)
  }
  for (const [sessionId, costUsd] of charged) {
    load.charged.set(sessionId, [...(load.charged.get(sessionId) ?? []), costUsd])
  }
  load.unexpected.push(...wrong)
  return load
}

class ResidentMemory {
  readonly #startedAt = Date.now()
  readonly #seen: { at: number; mb: number }[] = []
  readonly #timer: NodeJS.Timeout

  constructor({ pid }: ChildProcess) {
    const look = () => {
      try {
        this.#seen.push({ at: Date.now(), mb: residentBytes(pid!) / 2 ** 20 })
      } catch {
        // The process has exited, which other checks detect.
      }
    }
    look()
    this.#timer = setInterval(look, residentEveryMs)
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  get now(): number {
    return this.#seen.at(-1)!.mb
  }

  mostSince(at: number): number {
    return Math.max(...this.#seen.filter((one) => one.at >= at).map(({ mb }) => mb))
  }

  /** Returns the minimum and maximum of each minute, ten minutes per line. */
  byMinute(): string[] {
    const minutes = Map.groupBy(this.#seen, ({ at }) => Math.floor((at - this.#startedAt) / 60_000))
    const cells = [...minutes].map(([minute, some]) => {
      const mb = some.map((one) => one.mb)
      return `${minute}: ${Math.round(Math.min(...mb))}–${Math.round(Math.max(...mb))}`
    })
    return Array.from(
      { length: Math.ceil(cells.length / 10) },
      (_, n) => `MB resident by minute: ${cells.slice(n * 10, n * 10 + 10).join(', ')}`,
    )
  }
}

type Phase = { title: string; from: number; to: number; baseMb: number; mostMb: number; endMb: number }
type RunParts = {
  attackers: ForkedProcess
  memory: ResidentMemory
  server: ServerProcess
  tally: Tally
  watchFile: string
}

class HostileRun {
  readonly #parts: RunParts
  readonly #phases: Phase[] = []
  readonly #startedAt = Date.now()

  constructor(parts: RunParts) {
    this.#parts = parts
  }

  get tookMs(): number {
    return Date.now() - this.#startedAt
  }

  rest(title: string, ms: number): Promise<void> {
    return this.#phase(title, () => delay(ms))
  }

  async attack(title: string, some: AttackName[], ms: number, restAfterMs: number): Promise<void> {
    const { attackers, tally } = this.#parts
    await tally.attempt(title, () =>
      this.#phase(title, async () => {
        attackers.send({ type: 'attack', names: some, ms } satisfies AttackPhase)
        const over = await within(`${title} ends`, ms + endMsMax, attackers.next<FromAttackers & { type: 'over' }>())
        for (const [name, answers] of Object.entries(over.answers)) {
          tally.notes.push(`${title}${title === name ? '' : `: ${name}`}: ${told(answers)}`)
          const broken = Object.keys(answers).filter((label) => label.startsWith('the attack failed'))
          demandEqual(broken, [], `${name} is carried out`)
        }
        // Work that is still in progress counts toward this attack.
        await delay(restAfterMs)
      }),
    )
  }

  async #phase(title: string, work: () => Promise<unknown>): Promise<void> {
    const { memory, server } = this.#parts
    const from = Date.now()
    const baseMb = memory.now
    try {
      await work()
    } finally {
      this.#phases.push({ title, from, to: Date.now(), baseMb, mostMb: memory.mostSince(from), endMb: memory.now })
    }
    demandEqual(
      server.child.exitCode ?? server.child.signalCode,
      null,
      `the server's exit: ${server.log().slice(-1500)}`,
    )
  }

  /** Reports every phase and each bound that was exceeded. */
  judge({ answers, settledLate }: HonestOutcome, isShort: boolean): void {
    const { tally, watchFile } = this.#parts
    demand(existsSync(watchFile), 'the loop of the server is watched')
    const watched = readFileSync(watchFile, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Watched)
    const gap = (text: string) => void (isShort || tally.gaps.push(text))
    // Skips the first report, which covers the half second before the phase.
    const some = ({ from, to }: Phase) => ({
      seen: watched.filter(({ at }) => at >= from + tellMs && at <= to),
      asked: answers.filter(({ at }) => at >= from && at <= to),
    })
    for (const phase of this.#phases) {
      const { baseMb, mostMb, title } = phase
      const { asked, seen } = some(phase)
      const worst = seen.toSorted((a, b) => b.workMs - a.workMs)[0]
      const grownMb = Math.round(mostMb - baseMb)
      const quick = latenciesOf(asked.filter(({ kind }) => isQuick(kind)))
      const waitedMs = seen.reduce((sum, one) => sum + one.waitedMs, 0)
      tally.notes.push(
        `${title} (${Math.round((phase.to - phase.from) / 1000)} s, ${Math.round((100 * waitedMs) / (phase.to - phase.from))} % of it without a processor): loop at work for ${most(seen, 'workMs')} ms and late by ${most(seen, 'lateMs')} ms at most; ${Math.round(baseMb)} MB and ${grownMb} more at most (heap ${most(seen, 'heapMb')}, beside it ${most(seen, 'externalMb')}); honest p50 ${quick.p50}, p99 ${quick.p99}, max ${quick.max} ms of ${quick.count}`,
      )
      if (worst && worst.workMs > loopMsMax) {
        const times = seen.filter(({ workMs }) => workMs > loopMsMax).length
        gap(
          `${title}: the loop was at work for ${Math.round(worst.workMs)} ms, ${times} times for over ${loopMsMax} ms; asked for before: ${worst.requests.join(', ')}`,
        )
      }
      if (grownMb > grownMbMax && title in attacks) gap(`${title}: resident memory rose by ${grownMb} MB`)
    }
    const [first, ...rest] = this.#phases
    const mostMb = Math.round(Math.max(...rest.map((phase) => phase.mostMb)))
    const [startMb, endMb] = [Math.round(first!.endMb), Math.round(rest.at(-1)!.endMb)]
    tally.notes.push(`resident: ${startMb} MB after the warm-up, ${mostMb} MB at most, ${endMb} MB at the end`)
    if (endMb > startMb * residentShareMax)
      gap(`resident memory: ${endMb} MB at the end, ${startMb} MB after the warm-up`)
    const last = this.#phases.findLast(({ title }) => title === 'all at once')
    for (const [kind, of] of Map.groupBy(answers, (one) => one.kind)) {
      const all = latenciesOf(of)
      tally.notes.push(`honest ${kind}: ${all.count} requests, p50 ${all.p50}, p99 ${all.p99}, max ${all.max} ms`)
      const meanwhile = last ? latenciesOf(some(last).asked.filter((one) => one.kind === kind)) : all
      if (isQuick(kind) && meanwhile.p99 > honestP99MsMax)
        gap(`honest ${kind}: p99 ${meanwhile.p99} ms beside all attacks`)
    }
    const failed = Map.groupBy(
      answers.filter(({ status }) => status >= 500),
      ({ kind, status }) => `${kind} ${status}`,
    )
    for (const [what, of] of failed) gap(`honest users were answered ${what} ${of.length} times`)
    if (settledLate > 0) gap(`${settledLate} chats of honest users ended before they were settled`)
    demand(answers.length > 0, 'honest users are answered')
  }
}

function isQuick(kind: HonestKind): boolean {
  return kind !== 'poll' && kind !== 'reply'
}

function most(seen: readonly Watched[], what: 'heapMb' | 'externalMb' | 'workMs' | 'lateMs'): number {
  return Math.round(Math.max(0, ...seen.map((one) => one[what])))
}

function latenciesOf(answers: HonestAnswer[]): { count: number; p50: number; p99: number; max: number } {
  const times = answers.map(({ ms }) => ms).toSorted((a, b) => a - b)
  const at = (share: number) => Math.round(times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0)
  return { count: times.length, p50: at(0.5), p99: at(0.99), max: at(1) }
}

function told(answers: Record<string, number>): string {
  const counted = Object.entries(answers).toSorted(([, a], [, b]) => b - a)
  return counted.map(([label, count]) => `${count} × ${label}`).join('; ')
}
