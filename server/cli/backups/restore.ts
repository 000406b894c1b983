import { constants } from 'node:fs'
import { chmod, copyFile, mkdir, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import {
  hasSecret,
  resolveDatabaseUrl,
  resolveDataDir,
  resolvePayloadBucket,
  resolveSecrets,
} from '../../app/config.ts'
import { isoTime } from '../../kernel/clock.ts'
import { codeOf } from '../../kernel/thrown.ts'
import { UsageError } from '../../kernel/usage-error.ts'
import { secretCheck } from '../../store/access/secret-check.ts'
import { databaseFile } from '../../store/sqlite/database.ts'
import {
  checkRestored,
  lockForRestore,
  placeRestored,
  type RestoredFacts,
} from '../../store/sqlite/restore-database.ts'
import { print } from '../open-store.ts'
import { copyPayloads, syncPath } from './backup-payloads.ts'

type RestoreOptions = { data?: string; json?: boolean; replace?: boolean; withoutDamaged?: boolean }

const dayMs = 86_400_000
const reconcileDaysMax = 366

/**
 * Restores a backup into the data directory of a stopped server. Checks everything in a subfolder first, so that a
 * failed or killed restore changes nothing.
 */
export async function restore(backup: string, options: RestoreOptions): Promise<void> {
  if (resolveDatabaseUrl() !== undefined) {
    throw new UsageError(
      'restore supports only SQLite. For PostgreSQL, run pg_restore into an empty database, then errand ledger verify.',
    )
  }
  await assertBackup(backup)
  const dataDir = resolveDataDir(options.data)
  const { folder, release } = lockForRestore(dataDir, options.replace === true)
  try {
    const facts = await prepare(backup, { folder, options }).catch(async (error: unknown) => {
      await rm(folder, { recursive: true, force: true })
      throw ['ENOSPC', 'EDQUOT', 'SQLITE_FULL'].includes(codeOf(error))
        ? new Error(`There is not enough disk space for the backup in ${dataDir}. Free up space and retry.`)
        : error
    })
    const previous = placeRestored(dataDir, folder)
    report(options, { ...facts, backup, dataDir, previous })
  } finally {
    release()
  }
}

async function assertBackup(backup: string): Promise<void> {
  const found = await stat(backup).catch(() => undefined)
  if (!found?.isFile())
    throw new Error(`${backup} does not exist or is not a file. Choose a file created by errand backup.`)
  if (((await stat(`${backup}-wal`).catch(() => undefined))?.size ?? 0) > 0) {
    throw new Error(`${backup} is a database in use, not a backup. Create a backup with errand backup.`)
  }
}

type Prepared = RestoredFacts & { missingPayloads: string[] }

async function prepare(
  backup: string,
  { folder, options }: { folder: string; options: RestoreOptions },
): Promise<Prepared> {
  const file = databaseFile(folder)
  await copyFile(backup, file, constants.COPYFILE_FICLONE)
  await chmod(file, 0o600)
  const facts = checkRestored(folder, backup)
  await syncPath(file)
  if (resolvePayloadBucket()) return { ...facts, missingPayloads: [] }
  const to = join(folder, 'payloads')
  await mkdir(to, { mode: 0o700 })
  const { bad } = await copyPayloads(undefined, { database: file, from: `${backup}.payloads`, to })
  if (bad.length > 0 && !options.withoutDamaged) {
    throw new Error(
      `${bad.length} payloads are missing or damaged in ${backup}.payloads: ${bad.slice(0, 10).join(', ')}. If they are in a bucket, set its ERRAND_PAYLOADS_S3_ variables. Otherwise restore another backup, or skip them with --without-damaged.`,
    )
  }
  for (const name of await readdir(to)) await syncPath(join(to, name))
  await syncPath(to)
  return { ...facts, missingPayloads: bad }
}

type Report = Prepared & { backup: string; dataDir: string; previous: string | undefined }

function report(options: RestoreOptions, restored: Report): void {
  const {
    backup,
    dataDir,
    hasPayments,
    isMigrated,
    ledger,
    newestAt,
    previous,
    secretCheck: agreed,
    ...open
  } = restored
  const isSecretSet = agreed === undefined || isSameSecret(dataDir, agreed)
  const days = Math.min(reconcileDaysMax, Math.max(1, Math.ceil((Date.now() - (newestAt ?? 0)) / dayMs)))
  const value = {
    backup,
    dataDir,
    previous: previous ?? null,
    newestTransactionAt: newestAt === null ? null : isoTime(newestAt),
    accounts: ledger.accounts,
    transactions: ledger.transactions,
    migrated: isMigrated,
    secretMatches: isSecretSet,
    ...open,
    ...(hasPayments && { reconcileDays: days }),
  }
  const lines = [
    `Restored ${backup} to ${dataDir}: ${ledger.accounts} accounts, ${ledger.transactions} transactions. The ledger is consistent.`,
    previous && `The old database is now in ${previous}.`,
    isMigrated && 'An older version wrote the backup, so its schema was migrated.',
    newestAt !== null && `The newest transaction is from ${isoTime(newestAt)}. All later changes are lost.`,
    !isSecretSet &&
      `Before you start the server, copy the file "secret" of the old installation to ${dataDir}, or set ERRAND_SECRET.`,
    ...reconcileLines(open),
    hasPayments &&
      `To credit payments made since the backup, run \`errand payments reconcile --days ${days} --apply\`.`,
  ]
  print(options, value, lines.filter(Boolean).join('\n'))
}

function reconcileLines(open: Omit<Prepared, 'ledger' | 'isMigrated' | 'newestAt' | 'secretCheck' | 'hasPayments'>) {
  const { missingPayloads, openTurns, pendingDeliveries, pendingMails, queuedTasks, runningTasks, unpaidTopups } = open
  const named = ({ count, ids }: RestoredFacts['openTurns']) =>
    ` (${count}): ${ids.slice(0, 10).join(', ')}${count > 10 ? ', …' : ''}`
  return [
    queuedTasks.count > 0 &&
      `Queued tasks, which run at the next start even if they ran after the backup${named(queuedTasks)}`,
    runningTasks.count > 0 &&
      `Interrupted tasks, which run again if their endpoint has retries left, or fail and are refunded${named(runningTasks)}`,
    openTurns.count > 0 && `Interrupted replies, whose holds are released at the next start${named(openTurns)}`,
    unpaidTopups.count > 0 && `Unpaid top-ups, which may have been paid since the backup${named(unpaidTopups)}`,
    pendingDeliveries > 0 && `Webhook deliveries that may be sent a second time: ${pendingDeliveries}`,
    pendingMails > 0 && `Emails that may be sent a second time: ${pendingMails}`,
    missingPayloads.length > 0 && `Missing payloads: ${missingPayloads.join(', ')}`,
  ]
}

function isSameSecret(dataDir: string, agreed: string): boolean {
  if (!hasSecret(dataDir)) return false
  const { current, previous } = resolveSecrets(dataDir)
  return [current, ...previous].some((secret) => secretCheck(secret) === agreed)
}
