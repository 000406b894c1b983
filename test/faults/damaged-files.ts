import { cpSync, existsSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startProcess } from '../support/test-process.ts'
import { newDataDir } from '../support/test-service.ts'
import { verifyLedger } from '../../server/store/sqlite/damage/verify-ledger.ts'
import { readRows, settings, untilIdle } from './fault-invariants.ts'
import { call, FaultLoad, openRichAccount, type Account } from './fault-load.ts'
import { reportOn, type FaultOptions, type FaultReport, type Random } from './fault-report.ts'
import { demand, demandEqual, within } from '../support/until.ts'

/** Hides the server's warning about the open permissions of copied folders. */
const quiet = { ...settings, ERRAND_LOG_LEVEL: 'error' }
const tasks = 40
const taskPrice = 100
const serveMsMax = 90_000
const flipsMax = 4

/** A data directory with finished work, and the expected response for each task. */
type Source = { dataDir: string; account: Account; answers: Map<string, string>; balance: number }
type Found = 'refused to start' | 'whole' | 'an error on some tasks' | 'altered tasks' | 'lost tasks'

/** Flips bits in the database, its WAL and payloads, `times` times each, and starts a server on each damaged copy. */
export function run(options: FaultOptions): Promise<FaultReport> {
  return reportOn('damaged-files', options, async (tally) => {
    const source = await prepare(tally.random)
    for (const what of ['errand.db', 'errand.db-wal', 'payload'] as const) {
      const found = new Map<Found, number>()
      for (let n = 1; n <= options.times; n++) {
        await tally.attempt(`${what} ${n}`, async () => {
          const { hitLastOnly, outcome } = await serveDamaged(source, what, tally.random)
          found.set(outcome, (found.get(outcome) ?? 0) + 1)
          if (outcome !== 'altered tasks' && outcome !== 'lost tasks') return
          // Database pages have no checksums, so the server cannot detect a changed character in a row.
          const isKnown = what === 'errand.db' ? outcome === 'altered tasks' : hitLastOnly
          demand(isKnown, `${outcome}, and no word of it`)
        })
      }
      for (const gap of ['altered tasks', 'lost tasks'] as const) {
        const count = found.get(gap)
        if (count) tally.gaps.push(`${what}: ${gap} and no word of it, ${count} of ${options.times} times`)
      }
      tally.notes.push(`${what}: ${[...found].map(([outcome, count]) => `${outcome} ${count}`).join(', ')}`)
    }
    rmSync(source.dataDir, { recursive: true })
  })
}

async function prepare(random: Random): Promise<Source> {
  const dataDir = newDataDir()
  const account = await openRichAccount(dataDir)
  const load = new FaultLoad(account, random)
  // After the clean stop the first half is in the database. After the kill the second half is still in the WAL.
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    const server = await startProcess({ dataDir, env: quiet })
    for (let n = 0; n < tasks / 2; n++) demandEqual(await load.create(server.url), 200, 'a task')
    await untilIdle(dataDir)
    const answers = await readAll(server.url, { account, ids: [...load.accepted.keys()] })
    await server.end(signal)
    if (signal === 'SIGKILL') return { dataDir, account, answers, balance: balanceOf(dataDir, account) }
  }
  throw new Error('unreachable')
}

function balanceOf(dataDir: string, { userId }: Account): number {
  const select = 'SELECT balance FROM accounts WHERE user_id = ?'
  // Reads a copy, because closing a database's last connection empties the WAL.
  const copy = newDataDir()
  cpSync(dataDir, copy, { recursive: true })
  const balance = readRows(copy, (db) => db.prepare<[string], number>(select).pluck().get(userId)!)
  rmSync(copy, { recursive: true })
  return balance
}

/** Reads each task's response with complete payloads. A failed read is `error` with the status. */
async function readAll(
  url: string,
  { account, ids }: { account: Account; ids: string[] },
): Promise<Map<string, string>> {
  const answers = new Map<string, string>()
  for (const id of ids) {
    const { body, status } = await call(url, account, ['GET', `/api/tasks/${id}`])
    if (status !== 200) {
      answers.set(id, `error ${status}`)
      continue
    }
    const { requestUri, responseUri, ...task } = body
    const texts = [requestUri, responseUri].filter(Boolean).map(async (uri) => {
      const response = await fetch(url + new URL(uri).pathname + new URL(uri).search)
      return response.ok ? await response.text() : `error ${response.status}`
    })
    answers.set(id, JSON.stringify([task, ...(await Promise.all(texts))]))
  }
  return answers
}

type Served = { outcome: Found; hitLastOnly: boolean }

async function serveDamaged(source: Source, what: string, random: Random): Promise<Served> {
  const dataDir = newDataDir()
  try {
    cpSync(source.dataDir, dataDir, { recursive: true })
    const file =
      what === 'payload' ? globSync(join(dataDir, 'payloads/*/*.json'))[random.below(4)]! : join(dataDir, what)
    demand(existsSync(file), `${file} is there`)
    const isLog = what === 'errand.db-wal'
    const last = isLog ? lastTransactionAt(readFileSync(file)) : Infinity
    const hitLastOnly = flip(file, random).every((at) => at >= last)
    return { hitLastOnly, outcome: await within('a start on it', serveMsMax, serve(source, { dataDir, isLog })) }
  } finally {
    rmSync(dataDir, { recursive: true })
  }
}

/** Flips up to `flipsMax` random bits and returns their offsets. */
function flip(file: string, random: Random): number[] {
  const bytes = readFileSync(file)
  const places = new Set(Array.from({ length: random.below(flipsMax) + 1 }, () => random.below(bytes.length)))
  for (const at of places) bytes[at]! ^= 1 << random.below(8)
  writeFileSync(file, bytes)
  return [...places]
}

/**
 * Returns the offset of the WAL's last transaction. Damage from there on looks like a power loss during an
 * unacknowledged transaction.
 */
function lastTransactionAt(log: Buffer): number {
  const frameBytes = 24 + log.readUInt32BE(8)
  const ends = [32]
  for (let at = 32; at + frameBytes <= log.length; at += frameBytes) {
    if (log.readUInt32BE(at + 4) !== 0) ends.push(at + frameBytes)
  }
  return ends.at(-2) ?? 32
}

type Serve = { dataDir: string; isLog: boolean }

async function serve({ account, answers: before, balance }: Source, { dataDir, isLog }: Serve): Promise<Found> {
  const started = await startProcess({ dataDir, env: quiet }).catch((error: Error) => error)
  if (started instanceof Error) {
    const isClear = /^the server exited with 1: errand: [^\n]+\n$/.test(started.message)
    demand(isClear, `the refusal is one clear line: ${started.message}`)
    return 'refused to start'
  }
  try {
    const { url } = started
    const after = await readAll(url, { account, ids: [...before.keys()] })
    const created = await call(url, account, ['POST', '/api/tasks', { endpointId: 'test.echo', params: {} }])
    demand([200, 401, 500, 503].includes(created.status), `a new task is answered ${created.status}`)
    demandEqual((await fetch(`${url}/healthz`)).status, 200, 'health')
    demandEqual(started.child.exitCode, null, 'the exit code while it serves')
    const found = compare(before, after)
    // The ledger must balance even without the last transaction.
    if (isLog) demand(isLedgerOk(dataDir), 'what is left adds up')
    else if (moneyOf(dataDir, account) !== balance - (created.status === 200 ? taskPrice : 0))
      demand(!isLedgerOk(dataDir), 'wrong money is seen by `ledger verify`')
    return found
  } finally {
    await started.end('SIGKILL')
  }
}

function compare(before: Map<string, string>, after: Map<string, string>): Found {
  const changed = [...before].filter(([id, answer]) => after.get(id) !== answer).map(([id]) => after.get(id)!)
  if (changed.length === 0) return 'whole'
  if (changed.some((answer) => answer === 'error 404')) return 'lost tasks'
  return changed.every((answer) => answer.includes('error ')) ? 'an error on some tasks' : 'altered tasks'
}

function moneyOf(dataDir: string, { userId }: Account): number | undefined {
  try {
    const select = 'SELECT balance FROM accounts WHERE user_id = ?'
    return readRows(dataDir, (db) => db.prepare<[string], number>(select).pluck().get(userId))
  } catch {
    return undefined
  }
}

function isLedgerOk(dataDir: string): boolean {
  try {
    return readRows(dataDir, (db) => verifyLedger(db).ok)
  } catch {
    return false
  }
}
