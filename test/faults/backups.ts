import { copyFileSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { runErrand, startProcess } from '../support/test-process.ts'
import { newDataDir } from '../support/test-service.ts'
import { checkRows, readRows, settings, untilIdle } from './fault-invariants.ts'
import { call, FaultLoad, largeText, openRichAccount, type Account } from './fault-load.ts'
import { reportOn, type FaultOptions, type FaultReport, type Random } from './fault-report.ts'
import { demand, demandEqual, until } from '../support/until.ts'

const recoveryMsMax = 5000
/** Allowance for a busy machine. The crash faults measure the actual bound. */
const slackMsMax = 15_000

type Backup = { file: string; load: FaultLoad }

/** Backs up a server under load, restores each backup as docs/guides/operations.md says, and starts a server on it. */
export function run(options: FaultOptions): Promise<FaultReport> {
  return reportOn('backups', options, async (tally) => {
    const { isShort = false, times } = options
    const folder = newDataDir()
    const dataDir = join(folder, 'data')
    const account = await openRichAccount(dataDir)
    const load = new FaultLoad(account, tally.random)
    const server = await startProcess({ dataDir, env: settings })
    const stopped = new AbortController()
    const loading = load.run(server.url, { signal: stopped.signal })
    const backups: Backup[] = []
    try {
      for (let n = 1; n <= times; n++) {
        await delay(tally.random.next() * (isShort ? 600 : 2000))
        await tally.attempt(`backup ${n}`, async () => {
          const known = copyOf(load, tally.random)
          const file = join(folder, `backup-${n}.db`)
          await runErrand(['backup', file, '--data', dataDir])
          backups.push({ file, load: known })
        })
      }
      if (backups[0]) await tally.attempt('a backup over another', () => refuseToOverwrite(backups[0]!.file, dataDir))
    } finally {
      stopped.abort()
      await loading
      await server.end('SIGTERM')
    }
    for (const [n, backup] of backups.entries()) {
      await tally.attempt(`restore ${n + 1}`, () =>
        restore(backup, { account, folder: join(folder, `restored-${n + 1}`) }),
      )
    }
    tally.notes.push(`${load.accepted.size} tasks acknowledged while ${backups.length} backups were made`)
    if (tally.failures.length === 0) rmSync(folder, { recursive: true })
    else tally.notes.push(`the folders are kept: ${folder}`)
  })
}

/** Copies what the clients have observed so far. A backup that starts now must contain all of it. */
function copyOf({ account, accepted, canceled, charged, ended, owners }: FaultLoad, random: Random): FaultLoad {
  // Shared, because the backup may also contain cancels sent after this copy.
  const copy = Object.assign(new FaultLoad(account, random), { canceled })
  for (const [id, endpoint] of accepted) copy.accepted.set(id, endpoint)
  for (const [id, costs] of charged) copy.charged.set(id, [...costs])
  for (const [id, end] of ended) copy.ended.set(id, end)
  for (const [id, owner] of owners) copy.owners.set(id, owner)
  return copy
}

async function refuseToOverwrite(file: string, dataDir: string): Promise<void> {
  const before = statSync(file).mtimeMs
  const refusal = await runErrand(['backup', file, '--data', dataDir]).then(
    () => 'none',
    (error: { stderr: string }) => error.stderr,
  )
  demandEqual(refusal, `errand: ${file} already exists. Choose another name for the backup.\n`, 'the refusal')
  demandEqual(statSync(file).mtimeMs, before, 'the time of the backup that was there')
}

async function restore(
  { file, load }: Backup,
  { account, folder }: { account: Account; folder: string },
): Promise<void> {
  mkdirSync(folder)
  // Backups do not include the secret.
  copyFileSync(join(dirname(file), 'data', 'secret'), join(folder, 'secret'))
  const restored = JSON.parse(await runErrand(['restore', file, '--data', folder, '--json']))
  demandEqual(restored.secretMatches, true, 'whether the secret matches')
  demandEqual(JSON.parse(await runErrand(['ledger', 'verify', '--data', folder, '--json'])).ok, true, 'the ledger')
  const server = await startProcess({ dataDir: folder, env: { ...settings, ERRAND_LOG_LEVEL: 'error' } })
  const startedAt = Date.now()
  try {
    const isLeft = `SELECT count(*) FROM tasks WHERE status = 'processing' AND queued = 0 AND started_at < ?`
    await until('what was processing has ended', recoveryMsMax + slackMsMax, () =>
      readRows(folder, (db) => db.prepare<[number], number>(isLeft).pluck().get(startedAt) === 0),
    )
    await untilIdle(folder)
    checkRows(folder, load, { isAllKnown: false })
    await readAll(server.url, account, folder)
    demandEqual(server.log(), '', 'the log of errors')
    const left = readdirSync(join(folder, '..')).filter((name) => name.endsWith('.partial'))
    demandEqual(left, [], 'what backups have left half done')
  } finally {
    await server.end('SIGTERM')
  }
  rmSync(folder, { recursive: true })
}

async function readAll(url: string, account: Account, dataDir: string): Promise<void> {
  const select = 'SELECT id FROM tasks WHERE user_id = ?'
  const ids = readRows(dataDir, (db) => db.prepare<[string], string>(select).pluck().all(account.userId))
  demand(ids.length > 0, 'the backup has tasks')
  for (const id of ids) {
    const { body, status } = await call(url, account, ['GET', `/api/tasks/${id}`])
    demandEqual(status, 200, `the status of ${id}`)
    for (const uri of [body.requestUri, body.responseUri]) {
      if (!uri) continue
      const whole = await fetch(uri)
      demandEqual(whole.status, 200, `the status of a payload of ${id}`)
      demandEqual(((await whole.json()) as { text: string }).text, largeText, `the text of a payload of ${id}`)
    }
  }
}
