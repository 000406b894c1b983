import { join, resolve } from 'node:path'
import {
  checkDatabaseUrl,
  resolveDatabaseUrl,
  resolveDataDir,
  resolveOwnSecrets,
  resolvePayloadBucket,
} from '../app/config.ts'
import { secretCheck } from '../store/access/secret-check.ts'
import { grantOwner, SealedSecretsError, SecretVault, type SecretOwner, type Secrets } from '../kernel/secret-vault.ts'
import { SystemClock } from '../kernel/clock.ts'
import { formatUsd } from '../kernel/money.ts'
import { UsageError } from '../kernel/usage-error.ts'
import { openPayloads } from '../app/open-payloads.ts'
import { FilePayloadStore } from '../payloads/file-payload-store.ts'
import type { PayloadBucket } from '../payloads/payload-bucket.ts'
import type { PayloadStore } from '../payloads/payload-store.ts'
import { RowDigest } from '../store/carried-rows.ts'
import type { ImportTarget } from '../store/postgres/import/import-target.ts'
import { InstallationAtRest } from '../store/sqlite/export-tables.ts'
import type { LedgerReport } from '../store/store.ts'
import { checkSettings } from '../store/ledger/check-parts.ts'
import { leaveStandIn, movePayloads, payloadColumns, type MovedPayloads } from './move-payloads.ts'
import { print } from './open-store.ts'

type Options = { data?: string; json?: boolean; withoutDamaged?: boolean }

/** Prints a line for the person running the command; prints nothing with `--json`. */
type Say = (line: string) => void

type Copied = { digests: Map<string, RowDigest>; accounts: RowDigest; balance: number }

/**
 * Copies an installation from its data directory into an empty PostgreSQL database, and verifies that everything
 * arrived. Until it reports success, no server opens that database, and the data directory is unchanged. After that, no
 * server opens the data directory. If interrupted, it starts over on the next run.
 */
export async function migrateTo(given: string | undefined, options: Options): Promise<void> {
  const databaseUrl = given === undefined ? resolveDatabaseUrl() : checkDatabaseUrl('URL', given)
  if (databaseUrl === undefined) {
    throw new UsageError('URL: is required; set the database as an argument or in ERRAND_DATABASE_URL.')
  }
  const say: Say = (line) => void (options.json || process.stdout.write(`${line}\n`))
  const startedAt = performance.now()
  const dataDir = resolveDataDir(options.data)
  const source = InstallationAtRest.open(dataDir)
  try {
    assertLedger(source.verifyLedger(), `in ${dataDir}`)
    const { file, secrets } = resolveOwnSecrets(dataDir)
    assertUnderCurrent(source, secrets)
    const payloadBucket = resolvePayloadBucket()
    const settings = { dataDir, databaseUrl, payloadBucket, secrets: () => secrets }
    // Rejects an unusable bucket before the database is changed. The database refers to no payloads yet.
    const place = await openPayloads(settings, { listPayloads: async () => [] }, new SystemClock())
    try {
      const { ImportTarget: Target } = await import('../store/postgres/import/import-target.ts')
      const target = await Target.open(databaseUrl, { isAgain: source.isMoved })
      try {
        const payloads = await copyPayloads(source, { dataDir, payloadBucket, place, options, say })
        const copied = await copyTables(source, target, say)
        const { queued } = await target.complete()
        await prove(target, copied, say)
        const where = describeUrl(databaseUrl)
        if (!(await source.leave(where.name))) {
          throw new Error(`Another command changed the installation in ${dataDir} during the copy. Run this again.`)
        }
        await target.finish(secretCheck(secrets.current))
        report({ copied, payloads, queued, where, file, startedAt }, options)
      } finally {
        await target.close()
      }
    } finally {
      await place.close()
    }
  } finally {
    source.close()
  }
}

function assertLedger({ differences, ok }: LedgerReport, where: string): void {
  if (ok) return
  throw new Error(
    `The ledger ${where} does not add up (${differences.length} differences, the first: ${differences[0]?.what}): see \`errand ledger verify\`.`,
  )
}

/** Nodes use at most two secrets, but an installation may have had more. */
function assertUnderCurrent(source: InstallationAtRest, secrets: Secrets): void {
  const vault = new SecretVault(() => secrets)
  type Row = [id: string, userId: string, sealed: string | null, issuer?: string]
  const owners: [table: string, columns: string[], ownerOf: (row: Row) => SecretOwner][] = [
    ['connectors', ['id'], ([connectorId, userId]) => ({ userId, connectorId })],
    ['webhooks', ['id'], ([webhookId, userId]) => ({ userId, webhookId })],
    [
      'connector_grants',
      ['connector_id', 'issuer'],
      ([connectorId, userId, , issuer = '']) => grantOwner({ userId, connectorId, issuer }),
    ],
  ]
  let earlier = 0
  for (const [table, [id = '', ...more], ownerOf] of owners) {
    for (const batch of source.read(table, [id, 'user_id', 'sealed', ...more])) {
      for (const row of batch as Row[]) {
        const sealed = row[2]
        if (sealed !== null && !vault.isCurrent(sealed) && canOpen(vault, sealed, ownerOf(row))) earlier++
      }
    }
  }
  if (earlier === 0) return
  throw new Error(
    `The secrets of ${earlier} connectors and webhooks are encrypted with an earlier secret. Run \`errand secret rotate\` first.`,
  )
}

function canOpen(vault: SecretVault, sealed: string, owner: SecretOwner): boolean {
  try {
    vault.open(sealed, owner)
    return true
  } catch (error) {
    if (error instanceof SealedSecretsError) return false
    throw error
  }
}

type PayloadMove = {
  dataDir: string
  payloadBucket: PayloadBucket | undefined
  place: PayloadStore
  options: Options
  say: Say
}

async function copyPayloads(source: InstallationAtRest, move: PayloadMove): Promise<MovedPayloads> {
  const { dataDir, options, payloadBucket, place, say } = move
  const startedAt = performance.now()
  const files = new FilePayloadStore(join(dataDir, 'payloads'), new SystemClock())
  const moved = await movePayloads(source.read('payloads', payloadColumns), { files, target: place })
  if (moved.damaged.length > 0 && options.withoutDamaged !== true) {
    const advice = payloadBucket
      ? ''
      : ' If they are in a bucket, set the ERRAND_PAYLOADS_S3_ variables of that bucket.'
    throw new Error(
      `${moved.damaged.length} payloads are missing or damaged: ${moved.damaged.join(', ')}.${advice} Restore them from a backup, or leave them behind with --without-damaged.`,
    )
  }
  if (moved.firstLost !== undefined) await leaveStandIn(moved.firstLost, place)
  say(lineOf('stored payloads', moved.count, startedAt) + `, ${(moved.bytes / 1_048_576).toFixed(1)} MB`)
  return moved
}

async function copyTables(source: InstallationAtRest, target: ImportTarget, say: Say): Promise<Copied> {
  const copied: Copied = { digests: new Map(), accounts: new RowDigest(), balance: 0 }
  for (const { columns, name } of target.tables) {
    const startedAt = performance.now()
    const digest = new RowDigest()
    let writing: Promise<void> | undefined
    for (const batch of source.read(name, columns)) {
      for (const row of batch) digest.add(row)
      // Read the next rows while these are being written.
      await writing
      writing = target.insert(name, batch)
      writing.catch(() => {})
    }
    await writing
    copied.digests.set(name, digest)
    say(lineOf(name, digest.rows, startedAt))
  }
  for (const batch of source.read('settings', ['name', 'value'])) {
    for (const [name, value] of batch as [string, string][]) {
      if (checkSettings.includes(name)) await target.keepSetting(name, value)
    }
  }
  for (const row of source.accountSums()) {
    copied.accounts.add(row)
    copied.balance += row[1] as number
  }
  return copied
}

/** Reads everything back from the target and compares it with what was read from the source. */
async function prove(target: ImportTarget, { accounts, digests }: Copied, say: Say): Promise<void> {
  const startedAt = performance.now()
  let rows = 0
  await target.read(async (read) => {
    for (const [name, digest] of digests) {
      const found = await read.table(name)
      rows += found.rows
      if (found.equals(digest)) continue
      const counts = `${digest.rows} rows here, ${found.rows} there`
      throw new Error(`The table "${name}" differs from what was copied (${counts}). Run this again.`)
    }
    if (!(await read.accountSums()).equals(accounts)) {
      throw new Error('Balances or transaction sums differ from the original. Run this again.')
    }
  })
  assertLedger(await target.verifyLedger(), 'that was copied')
  say(lineOf('read again and compared', rows, startedAt))
}

type Moved = {
  copied: Copied
  payloads: MovedPayloads
  queued: number
  where: { name: string; url: string; hidesPassword: boolean }
  /** File with the secret; null if the secret comes from the environment. */
  file: string | null
  startedAt: number
}

function report({ copied, payloads, queued, where, file, startedAt }: Moved, options: Options): void {
  const { accounts, balance, digests } = copied
  const tables = Object.fromEntries(Array.from(digests, ([name, { rows }]) => [name, rows]))
  const seconds = Math.round((performance.now() - startedAt) / 100) / 10
  const { bytes, count, damaged } = payloads
  const value = {
    ok: true,
    database: where.name,
    tables,
    accounts: accounts.rows,
    balanceUsd: formatUsd(balance),
    queuedTasks: queued,
    payloads: { count, bytes, damaged },
    secretFile: file === null ? null : resolve(file),
    seconds,
  }
  const secret = file === null ? '"$ERRAND_SECRET"' : `"$(head -n 1 '${resolve(file).replaceAll("'", `'\\''`)}')"`
  const lines = [
    '',
    `Done in ${seconds} s: ${where.name} has the installation. Every row is unchanged (SHA-256), ${accounts.rows} balances and the`,
    `sums of their transactions are equal (${value.balanceUsd} USD in all), the ledger adds up, and every payload has its digest.`,
    ...(damaged.length > 0 ? [`Left behind because they are missing or damaged: ${damaged.join(', ')}`] : []),
    `${queued} queued tasks wait for the first node. Errand no longer opens the data directory.`,
    '',
    file === null
      ? 'Every node needs the ERRAND_SECRET that is set now. Continue with:'
      : `Every node needs the secret of this installation as ERRAND_SECRET: the first line of ${resolve(file)}. Continue with:`,
    '',
    `  export ERRAND_DATABASE_URL='${where.url}' ERRAND_SECRET=${secret}`,
    '  errand serve',
    ...(where.hidesPassword ? ['', 'Replace PASSWORD with the database password.'] : []),
  ]
  print(options, value, lines.join('\n'))
}

/** Returns a database's name and URL for display, without its password. */
function describeUrl(databaseUrl: string): { name: string; url: string; hidesPassword: boolean } {
  const hidden = databaseUrl
    .replace(/^([a-z]+:\/\/[^/?#]*?):[^/?#]*@/, '$1:PASSWORD@')
    .replace(/([?&]password=)[^&]*/, '$1PASSWORD')
  const { host, pathname } = new URL(hidden.replace('@/', '@localhost/'))
  return { name: `${host}${pathname}`, url: hidden, hidesPassword: hidden !== databaseUrl }
}

function lineOf(what: string, rows: number, startedAt: number): string {
  const seconds = (performance.now() - startedAt) / 1000
  const count = rows.toLocaleString('en-US')
  const rate = rows < 1000 ? '' : ` (${Math.round(rows / seconds).toLocaleString('en-US')} a second)`
  return `${what.padEnd(24)} ${count.padStart(12)} in ${seconds.toFixed(1)} s${rate}`
}
