import { rmSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { startProcess } from '../support/test-process.ts'
import { FaultDatabase } from './fault-database.ts'
import { checkRows, settings, untilIdle } from './fault-invariants.ts'
import { call, notedAgents, type FaultLoad } from './fault-load.ts'
import { databaseEnv, newDatabasePlace } from './fault-place.ts'
import { reportOn, type FaultOptions, type FaultReport, type Tally } from './fault-report.ts'
import { killFolder, killNotes, newFigures, openLoad } from './kill-at-random.ts'
import { PostgresRows } from './postgres-rows.ts'
import type { DatabasePlace } from './row-source.ts'
import { demand, demandEqual, until, within } from '../support/until.ts'

/** Short leases, so that a run does not wait long for a killed node. */
const shortLeases = { ERRAND_LEASE_SECONDS: '2' }
const killsPerDatabase = 10
const failuresMax = 5
const healMsMax = 60_000

/** Like kill-at-random, on PostgreSQL. A killed node's work ends only after its leases have expired. */
export function runKills(options: FaultOptions): Promise<FaultReport> {
  return reportOn('postgres-kills', options, async (tally) => {
    const { isShort = false, times } = options
    const server = await FaultDatabase.start({ isDurable: false })
    try {
      tally.figures = newFigures()
      for (let n = 0; n * killsPerDatabase < times && tally.failures.length < failuresMax; n++) {
        const kills = Math.min(killsPerDatabase, times - n * killsPerDatabase)
        const place = await newDatabasePlace(server)
        const env = { ...databaseEnv(place), ...shortLeases }
        await killFolder(tally, { n, kills, isShort, database: { place, env } })
        PostgresRows.of(place.databaseUrl).close()
      }
      delete tally.figures.underWay
      tally.notes.push(...killNotes(tally.figures))
    } finally {
      await server.stop()
    }
  })
}

type Outage = { server: FaultDatabase; place: DatabasePlace; load: FaultLoad; url: string }

/**
 * Kills PostgreSQL with kill -9 and restarts it, or cuts its connections, under load. The node is never restarted. It
 * must answer 503 while the database is down and work again afterwards.
 */
export function runCrashes(options: FaultOptions): Promise<FaultReport> {
  return reportOn('postgres-crashes', options, async (tally) => {
    const server = await FaultDatabase.start({ isDurable: true })
    const place = await newDatabasePlace(server)
    const notes = `${place.dataDir}.notes`
    const load = await openLoad(place, notes, tally.random)
    const env = { ...settings, ...databaseEnv(place), ...shortLeases, ...load.parts.payments!.env }
    const node = await startProcess({ dataDir: place.dataDir, config: notedAgents, env })
    const healedMs: number[] = []
    let cuts = 0
    try {
      for (let n = 0; n < options.times; n++) {
        await tally.attempt(`outage ${n + 1}`, async () => {
          const outage = { server, place, load, url: node.url }
          const stopped = new AbortController()
          const loading = load.run(node.url, { refusals: [503], signal: stopped.signal })
          if (n % 2 === 0) healedMs.push(await crashPostgres(outage, tally))
          else cuts += await cutOften(outage, tally)
          await delay(500)
          stopped.abort()
          await within('the load ends', healMsMax, loading)
          demandEqual(node.child.exitCode, null, 'the exit code of the node, which goes on')
          await load.repeatUnknown(node.url)
          await untilIdle(place)
          await until('every chat is settled', healMsMax, () => isSettled(place))
          checkRows(place, load)
        })
        // Each outage must report only its own findings.
        load.unexpected.length = 0
      }
      demandEqual(await node.end('SIGTERM'), 0, 'the exit code')
      tally.notes.push(
        `${healedMs.length} kills of PostgreSQL: the node took tasks again at most ${Math.round(Math.max(0, ...healedMs))} ms after it was started; ${cuts} connections cut`,
        `${load.accepted.size} tasks and ${[...load.charged.values()].flat().length} chats acknowledged, ${load.refused} requests answered 503`,
      )
    } finally {
      await node.end('SIGKILL')
      await load.parts.payments!.stop()
      PostgresRows.of(place.databaseUrl).close()
      await server.stop()
    }
    if (tally.failures.length > 0) {
      const lines = node
        .log()
        .split('\n')
        .filter((line) => line.includes('"a request failed"'))
      const byMessage = new Map(lines.map((line) => [/"message":"[^"]*"/.exec(line)?.[0], line]))
      tally.notes.push(...[...byMessage.values()].map((line) => line.slice(0, 1500)))
      return
    }
    rmSync(place.dataDir, { recursive: true, force: true })
    rmSync(notes, { force: true })
  })
}

function isSettled({ databaseUrl }: DatabasePlace): boolean {
  return PostgresRows.of(databaseUrl).all('SELECT 1 FROM turns WHERE settled_at IS NULL LIMIT 1').length === 0
}

/** Kills and restarts PostgreSQL. Resolves with the milliseconds from its restart until the node accepts a task. */
async function crashPostgres({ load, server, url }: Outage, { random }: Tally): Promise<number> {
  await delay(random.next() * 1500)
  await server.kill()
  const away = await call(url, load.account, ['GET', '/api/tasks?limit=1'])
  demandEqual(away.status, 503, `a read while the database is away, ${JSON.stringify(away.body)}`)
  const health = await fetch(`${url}/readyz`)
  demand(health.status === 503, `/readyz is ${health.status} while the database is away`)
  await delay(random.next() * 1500)
  const startedAt = performance.now()
  await server.startAgain()
  await until('tasks are read again', healMsMax, async () => {
    return (await call(url, load.account, ['GET', '/api/tasks?limit=1'])).status === 200
  })
  await until('tasks are taken again', healMsMax, async () => (await load.create(url)) === 200)
  return performance.now() - startedAt
}

/** Cuts connections as an operator or a restarting firewall does. Resolves with the number of connections cut. */
async function cutOften({ load, place, server, url }: Outage, { random }: Tally): Promise<number> {
  let cuts = 0
  for (let n = 0; n < 5; n++) {
    await delay(100 + random.next() * 400)
    cuts += await server.cutConnections(place.databaseUrl)
  }
  await until('tasks are taken again', healMsMax, async () => (await load.create(url)) === 200)
  return cuts
}
