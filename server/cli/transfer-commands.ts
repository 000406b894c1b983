import { createReadStream, existsSync } from 'node:fs'
import { open, rm } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { resolveDatabaseUrl, resolveDataDir, resolvePayloadBucket, resolveSecrets } from '../app/config.ts'
import { openPayloads } from '../app/open-payloads.ts'
import { must } from '../kernel/assert.ts'
import { isoTime, SystemClock } from '../kernel/clock.ts'
import { codeOf } from '../kernel/thrown.ts'
import { UsageError } from '../kernel/usage-error.ts'
import { PayloadDamage } from '../payloads/payload-digest.ts'
import type { PayloadStore } from '../payloads/payload-store.ts'
import { assertNotExported, exportedSetting } from '../store/transfer/exported-mark.ts'
import { exportLines, type ExportEnd } from '../store/transfer/export-lines.ts'
import { importLines, readHeader, readLines, type Lines } from '../store/transfer/import-lines.ts'
import type { LedgerReport } from '../store/ledger/ledger-report.ts'
import { carriedTables } from '../store/transfer/carried-tables.ts'
import type { WholeDatabase } from '../store/transfer/whole-database.ts'
import { openWhole } from './open-store.ts'

type Common = { data?: string; json?: boolean }
type ExportOptions = Common & { undo?: boolean; withoutDamaged?: boolean }

const stdio = '-'
const removeMark = `DELETE FROM settings WHERE name = '${exportedSetting}'`

/**
 * Writes all data of a stopped installation as NDJSON. Marks the installation as exported before the last line, so that
 * the installation and its copy are never both served.
 */
export async function exportInstallation(file: string, options: ExportOptions): Promise<void> {
  const db = await openWhole(options.data, { mustExist: true })
  try {
    if (options.undo) {
      await db.query(removeMark)
      await db.commit()
      return report(process.stdout, options, { value: {}, text: 'The installation can be used again.' })
    }
    const [mark] = await db.query(`SELECT value FROM settings WHERE name = '${exportedSetting}'`)
    assertNotExported(mark?.[0] as string | undefined)
    assertLedger(await db.verifyLedger())
    const end = await writeExport(db, file, options)
    const text = `Exported ${sumOf(end)} rows. This installation is now marked as exported.`
    report(file === stdio ? process.stderr : process.stdout, options, { value: end, text })
  } finally {
    await db.close()
  }
}

async function writeExport(db: WholeDatabase, file: string, options: ExportOptions): Promise<ExportEnd> {
  const { withoutDamaged = false } = options
  const bucket = resolvePayloadBucket()?.bucket ?? null
  const payloads = bucket === null ? await openOwnPayloads(options) : undefined
  const damaged: string[] = []
  let end: ExportEnd | undefined
  const lines = exportLines(db, {
    bucket,
    contentOf: async ({ digest, id }) => {
      const content = await payloads?.readBytes(id, digest).catch(ifDamaged)
      if (payloads && !content) damaged.push(id)
      return content?.toString('base64') ?? null
    },
    beforeEnd: async () => {
      if (damaged.length > 0 && !withoutDamaged) throw withDamaged(damaged)
      await db.query(`INSERT INTO settings (name, value) VALUES ('${exportedSetting}', '${isoTime(Date.now())}')`)
      if (await db.commit()) return
      await db.query(removeMark)
      throw new Error('Another command changed the installation during the export. Run the export again.')
    },
  })
  const written = Readable.from(
    (async function* () {
      end = yield* lines
    })(),
  )
  try {
    if (file === stdio) await pipeline(written, process.stdout, { end: false })
    else await writeFile(file, written)
  } catch (error) {
    // Remove the export mark, because the incomplete file is gone. After an export to a pipe, keep it, because the
    // reader may already have the last line.
    if (file !== stdio) await db.query(removeMark).catch(() => {})
    throw error
  } finally {
    await payloads?.close()
  }
  return must(end, 'the last line was written')
}

async function writeFile(file: string, content: Readable): Promise<void> {
  if (existsSync(file)) throw new Error(`${file} already exists. Choose a new file for the export.`)
  const handle = await open(file, 'wx', 0o600)
  try {
    await pipeline(content, handle.createWriteStream({ flush: true }))
  } catch (error) {
    await rm(file, { force: true })
    throw error
  }
}

function ifDamaged(error: unknown): undefined {
  if (!(error instanceof PayloadDamage) && codeOf(error) !== 'ENOENT') throw error
}

function withDamaged(ids: string[]): Error {
  const named = `${ids.length} payloads are missing or damaged: ${ids.join(', ')}.`
  return new Error(
    `${named} If they are in a bucket, set its ERRAND_PAYLOADS_S3_ variables. Otherwise restore them from a backup, or skip them with --without-damaged.`,
  )
}

/** Fills an empty database of either engine from an export. If the import fails, the database stays empty. */
export async function importInstallation(file: string, options: Common): Promise<void> {
  const lines = readLines(file === stdio ? process.stdin : createReadStream(file))
  try {
    await importFrom(lines, options)
  } finally {
    await lines.return()
  }
}

async function importFrom(lines: Lines, options: Common): Promise<void> {
  const header = await readHeader(lines)
  if (header.bucket !== null && !resolvePayloadBucket()) {
    throw new UsageError(
      `ERRAND_PAYLOADS_S3_BUCKET: must be set, because the payloads are in the bucket "${header.bucket}"`,
    )
  }
  const payloads = await openOwnPayloads(options)
  try {
    const db = await openWhole(options.data, { mustExist: false })
    try {
      await assertEmpty(db)
      const end = await importLines(db, lines, {
        header,
        keepContent: async ({ id }, content) => {
          if (header.bucket !== null) return
          // Write a placeholder for a lost payload, because nodes refuse to start if they find none of the referenced
          // payloads. The placeholder does not match the payload's digest and is therefore never served.
          await payloads.writeAs(id, content === null ? 'lost before the export' : Buffer.from(content, 'base64'))
        },
      })
      assertLedger(await db.verifyLedger())
      await db.commit()
      const text = `Imported ${sumOf(end)} rows, and the ledger is consistent. Serve them with the secret of the exported installation.`
      report(process.stdout, options, { value: end, text })
    } finally {
      await db.close()
    }
  } finally {
    await payloads.close()
  }
}

async function assertEmpty(db: WholeDatabase): Promise<void> {
  for (const { name } of carriedTables) {
    if (name === 'settings') await db.query('DELETE FROM settings')
    else if ((await db.query(`SELECT 1 FROM "${name}" LIMIT 1`)).length > 0) {
      throw new Error(`The database already has data in the table "${name}". Choose an empty database.`)
    }
  }
}

export async function openOwnPayloads({ data }: Common): Promise<PayloadStore> {
  const dataDir = resolveDataDir(data)
  const settings = {
    dataDir,
    databaseUrl: resolveDatabaseUrl(),
    payloadBucket: resolvePayloadBucket(),
    secrets: () => resolveSecrets(dataDir),
  }
  return await openPayloads(settings, { listPayloads: async () => [] }, new SystemClock())
}

function assertLedger({ differences, ok }: LedgerReport): void {
  if (ok) return
  throw new Error(
    `The ledger has ${differences.length} differences. The first failed check is "${differences[0]?.what}". Run \`errand ledger verify\`.`,
  )
}

function sumOf({ rows }: ExportEnd): string {
  return Object.values(rows)
    .reduce((sum, count) => sum + count, 0)
    .toLocaleString('en-US')
}

function report(to: NodeJS.WritableStream, { json }: Common, { text, value }: { value: object; text: string }): void {
  to.write(`${json ? JSON.stringify(value) : text}\n`)
}
