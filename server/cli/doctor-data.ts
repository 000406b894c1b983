import { existsSync, readdirSync, statfsSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { hasSecret, resolveSecrets } from '../app/config.ts'
import { must } from '../kernel/assert.ts'
import { assertSameSecret, secretCheck, secretSetting } from '../store/access/secret-check.ts'
import {
  assertUndamaged,
  inspectDatabase,
  inspectLedger,
  type DatabaseFacts,
} from '../store/sqlite/inspect-database.ts'
import { databaseFile } from '../store/sqlite/database.ts'
import { assertUsable } from '../store/sqlite/usable-folder.ts'
import type { Finding, Installation } from './finding.ts'
import { withStore } from './open-store.ts'

type Found = Omit<Finding, 'name'>
const ok = (message: string): Found => ({ status: 'ok', message })
const warning = (message: string): Found => ({ status: 'warning', message })
const problem = (message: string): Found => ({ status: 'problem', message })

const gigabyte = 1024 ** 3
/** A larger WAL file means that a reader is keeping SQLite from checkpointing it. */
const walBytesMax = gigabyte / 4
const clockMsMax = 60_000
/** Network file systems by their magic number from statfs. They lack the shared memory that SQLite's WAL needs. */
const networkFileSystems: Record<number, string> = {
  0x69_69: 'NFS',
  0x51_7b: 'SMB',
  0xff_53_4d_42: 'CIFS',
  0xfe_53_4d_42: 'SMB',
}

export function checkFolder({ dataDir }: Installation): Found {
  const path = resolve(dataDir)
  if (!existsSync(dataDir)) return ok(`${path} will be created at the first start`)
  assertUsable(dataDir)
  const network = networkFileSystems[statfsSync(dataDir).type]
  if (network !== undefined)
    return problem(`${path} is on ${network}, where SQLite can lose data. Choose a folder on a local disk`)
  return ok(path)
}

/**
 * Reports files that other users can read. The service removes these permissions at startup. However, others may have
 * read the data before then, and files owned by other users stay readable.
 */
export function checkModes({ dataDir }: Installation): Found {
  if (!existsSync(dataDir) || process.getuid === undefined) return ok('nothing to check')
  const open = ['', ...readdirSync(dataDir)].filter((name) => (statSync(join(dataDir, name)).mode & 0o077) !== 0)
  if (open.length === 0) return ok('stored data is readable only by its owner')
  const names = open.map((name) => (name === '' ? dataDir : name)).join(', ')
  return warning(`other users of this machine can read ${names}. Run chmod -R go= ${dataDir}`)
}

export function checkDisk({ dataDir }: Installation): Found {
  let folder = resolve(dataDir)
  while (!existsSync(folder)) folder = dirname(folder)
  const { bavail, bsize, ffree, files } = statfsSync(folder)
  const free = bavail * bsize
  const text = `${(free / gigabyte).toFixed(1)} GB free in ${resolve(dataDir)}`
  if (files > 0 && ffree < 1000)
    return problem(`${text}, but only ${ffree} more files can be created. Delete some files`)
  if (free < gigabyte / 10) return problem(`${text}. Free up space, or writes will soon fail`)
  return free < gigabyte ? warning(text) : ok(text)
}

export async function checkDatabase({ dataDir, hasDatabaseUrl }: Installation): Promise<Found> {
  if (hasDatabaseUrl) {
    const { databaseBytes } = await withStore({ data: dataDir }, (store) => store.readState())
    return ok(`PostgreSQL, ${(databaseBytes / gigabyte).toFixed(1)} GB, schema of this version`)
  }
  if (!existsSync(databaseFile(dataDir))) return ok('will be created at the first start')
  assertUndamaged(dataDir)
  const facts = must(inspectDatabase(dataDir), 'an existing database file can be inspected')
  if (facts.schema === 'older')
    return warning('has the schema of an older version, which the next start will migrate. Make a backup first')
  if (facts.journalMode !== 'wal')
    return problem(`is in ${facts.journalMode} mode, not WAL mode. Start the server once to switch it to WAL`)
  if (facts.walBytes > walBytesMax) {
    const size = (facts.walBytes / gigabyte).toFixed(1)
    return warning(
      `its WAL file is ${size} GB, because another program is reading the database. Find that program with fuser and stop it`,
    )
  }
  return ok('SQLite in WAL mode, schema of this version')
}

export async function checkLedger({ dataDir, hasDatabaseUrl }: Installation): Promise<Found> {
  if (!hasDatabaseUrl && !existsSync(databaseFile(dataDir))) return ok('has no entries yet')
  if (!hasDatabaseUrl && factsOf(dataDir)?.schema !== 'current')
    return warning('cannot be checked because the database is unreadable')
  const report = hasDatabaseUrl
    ? await withStore({ data: dataDir }, (store) => store.verifyLedger())
    : inspectLedger(dataDir)
  const { differences, transactions } = report
  if (report.ok) return ok(`the ${transactions} transactions add up`)
  const { actual, expected, what } = must(differences[0], 'an unbalanced ledger has a difference')
  const more = differences.length === 1 ? '' : ` and ${differences.length - 1} more`
  return problem(
    `is inconsistent: the check "${what}" expected ${expected} and found ${actual}${more}. Run errand ledger verify.`,
  )
}

export async function checkSecret({ dataDir, hasDatabaseUrl }: Installation): Promise<Found> {
  if (hasDatabaseUrl) {
    const secrets = resolveSecrets(dataDir)
    await withStore({ data: dataDir }, (store) => assertSameSecret(store.settings, secrets, null))
    return ok('is the same as on the other nodes')
  }
  const agreed = factsOf(dataDir)?.setting(secretSetting)
  const { current, previous } = hasSecret(dataDir) ? resolveSecrets(dataDir) : unset
  if (agreed === undefined) return ok(current === '' ? 'will be created at the first start' : 'is set')
  if ([current, ...previous].some((secret) => secret !== '' && secretCheck(secret) === agreed)) {
    return ok('matches the database. Backups do not contain it, so keep a copy elsewhere')
  }
  const what = current === '' ? 'is missing' : 'does not match the database'
  return problem(
    `${what}. Restore the original file "secret" to ${dataDir}, or set ERRAND_SECRET to its previous value`,
  )
}

const unset = { current: '', previous: [] }

export function checkClock({ dataDir, hasDatabaseUrl }: Installation): Found {
  const now = new Date()
  if (hasDatabaseUrl) return ok(`${now.toISOString()}; nodes use the clock of the database`)
  const newestAt = factsOf(dataDir)?.newestAt ?? 0
  if (newestAt - now.getTime() <= clockMsMax) return ok(now.toISOString())
  const ahead = new Date(newestAt).toISOString()
  return problem(
    `the time is ${now.toISOString()}, but the last write to the database was at ${ahead}. Set the clock (timedatectl)`,
  )
}

/** Returns undefined if the database is unreadable, which another check reports. */
function factsOf(dataDir: string): DatabaseFacts | undefined {
  try {
    return inspectDatabase(dataDir)
  } catch {
    return undefined
  }
}
