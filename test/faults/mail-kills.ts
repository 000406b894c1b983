import { rmSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { MailCatcher } from '../mails/mail-catcher.ts'
import { startProcess } from '../support/test-process.ts'
import { newDataDir } from '../support/test-service.ts'
import { demandEqual, until } from '../support/until.ts'
import { FaultDatabase } from './fault-database.ts'
import { besidePlace, databaseEnv, newDatabasePlace } from './fault-place.ts'
import { reportOn, type FaultOptions, type FaultReport, type Tally } from './fault-report.ts'
import { dataDirOf, readPlace, type Place } from './row-source.ts'

// People request password and sign-up links while the server is killed. Each committed mail must arrive at least once,
// and no other mail may arrive.

/** Requests per kill, half of them for each kind of link. */
const perKill = 6
/** Number of kills after which the arrival of all mails is checked. */
const killsPerPlace = 20
/** A killed server's leases must expire before another one sends its mails. */
const arrivalMsMax = 150_000

export function run(options: FaultOptions): Promise<FaultReport> {
  return reportOn('mail-kills', options, (tally) => killEach(tally, options.times, async () => newDataDir()))
}

export function runPostgres(options: FaultOptions): Promise<FaultReport> {
  return reportOn('mail-kills-postgres', options, async (tally) => {
    const database = await FaultDatabase.start({ isDurable: false })
    try {
      await killEach(tally, options.times, () => newDatabasePlace(database))
    } finally {
      await database.stop()
    }
  })
}

async function killEach(tally: Tally, times: number, newPlace: () => Promise<Place>): Promise<void> {
  for (let done = 0; done < times; done += killsPerPlace)
    await killSenders(tally, { place: await newPlace(), kills: Math.min(killsPerPlace, times - done) })
}

async function killSenders(tally: Tally, { kills, place }: { kills: number; place: Place }): Promise<void> {
  const catcher = await MailCatcher.start({
    // Slow, so that kills hit mails in flight.
    onMailFrom: (_address, _session, done) => void setTimeout(done, 50),
  })
  const dataDir = dataDirOf(place)
  const database = typeof place === 'string' ? {} : databaseEnv(place)
  const signUp = { ERRAND_SIGN_UP: 'email', ERRAND_SIGN_UPS_PER_DAY: '0' }
  const start = () => startProcess({ dataDir, env: { ...database, ...catcher.env, ...signUp } })
  const emailsOf = (kill: number) => Array.from({ length: perKill }, (_, n) => `person-${kill}-${n}@example.com`)
  const isKnown = (n: number) => n % 2 === 0
  await besidePlace(place, async (store) => {
    for (let kill = 0; kill < kills; kill++)
      for (const [n, email] of emailsOf(kill).entries())
        if (isKnown(n)) await store.createUser({ email, passwordHash: 'hash', isAdmin: false })
  })
  const answered: string[] = []
  const progress = () => answered.length + catcher.asked.length
  try {
    for (let kill = 0; kill < kills; kill++) {
      await tally.attempt(`kill ${kill + 1}`, async () => {
        const server = await start()
        const request = async (email: string, n: number) => {
          const path = isKnown(n) ? '/api/password-resets' : '/api/sign-up'
          const headers = { 'Content-Type': 'application/json' }
          const sent = { method: 'POST', headers, body: JSON.stringify({ email }) }
          const answer = await fetch(server.url + path, sent).catch(() => undefined)
          if (answer?.status === 200) answered.push(email)
          else if (answer) throw new Error(`${path} got ${answer.status}`)
        }
        const requests = Promise.all(emailsOf(kill).map(request))
        requests.catch(() => {})
        // Kills at each stage: before the first commit, between responses and mails, and when almost all were sent.
        const wanted = progress() + tally.random.below(2 * perKill)
        await until('the requests are in progress', 30_000, () => progress() >= wanted)
        await delay(tally.random.below(50))
        await server.end('SIGKILL')
        await requests
      })
    }
    await tally.attempt('the mails of all kills', async () => {
      const server = await start()
      const committed = () =>
        readPlace(place, (rows) => rows.all<{ email: string }>('SELECT email FROM mails')).map(({ email }) => email)
      const missing = () => {
        const caught = new Set(catcher.caught.map(({ to }) => to))
        return [...committed(), ...answered].filter((email) => !caught.has(email))
      }
      await until('all mails arrive', arrivalMsMax, () => missing().length === 0)
      const rows = new Set(committed())
      demandEqual(
        catcher.caught.filter(({ to }) => !rows.has(to)).map(({ to }) => to),
        [],
        'mails that were not committed',
      )
      demandEqual(
        readPlace(place, (of) => of.verifyLedger().differences),
        [],
        'the ledger',
      )
      demandEqual(await server.end('SIGTERM'), 0, 'the exit code')
      const { length } = catcher.caught
      tally.notes.push(`${answered.length} responses, ${rows.size} mails, ${length - rows.size} of them sent twice`)
    })
  } finally {
    await catcher.stop()
  }
  if (tally.failures.length === 0) rmSync(dataDir, { recursive: true })
  else tally.notes.push(`the folder is kept: ${dataDir}`)
}
