import { createHash } from 'node:crypto'
import { must } from '../../kernel/assert.ts'
import type { PayloadDigest } from '../../payloads/stored-json.ts'
import { carriedTables, type CarriedRow, type CarriedTable } from './carried-tables.ts'
import type { WholeDatabase } from './whole-database.ts'

// An export is in NDJSON format:
//
//   {"format":"errand-export", …}            header
//   {"table":"users","columns":["seq", …]}   start of a table, for each table
//   [1,"usr_…", …]                           row; a row of `payloads` ends with the content in base64, or null
//   {"rows":{"users":1, …},"sha256":"…"}     end: row counts, and the digest of all lines after the header
//
// For the same data, both engines write the same lines after the header.

export const exportFormat = { format: 'errand-export', version: 1 } as const
const payloadColumns = must(
  carriedTables.find(({ name }) => name === 'payloads'),
  'an export includes the payloads table',
).columns
const chunkChars = 65_536

export type ExportHeader = typeof exportFormat & {
  schema: string
  engine: WholeDatabase['engine']
  /** Name of the bucket that contains the payloads, or null if the export contains them. */
  bucket: string | null
}
export type CarriedPayload = { id: string; digest: PayloadDigest | null }
export type ExportEnd = { rows: Record<string, number>; sha256: string }

export type ExportLinesOptions = {
  bucket: string | null
  /** Returns the content in base64, or null if the export does not contain it. */
  contentOf: (payload: CarriedPayload) => Promise<string | null>
  /** Called before the last line is written. If it throws, the export is incomplete and cannot be imported. */
  beforeEnd: () => Promise<void>
}

/** Yields the export in chunks of lines. Returns the content of the last line. */
export async function* exportLines(
  db: WholeDatabase,
  { beforeEnd, bucket, contentOf }: ExportLinesOptions,
): AsyncGenerator<string, ExportEnd> {
  const header: ExportHeader = { ...exportFormat, schema: db.schema, engine: db.engine, bucket }
  yield lineOf(header)
  const checksum = createHash('sha256')
  const hashed = (chunk: string) => {
    checksum.update(chunk)
    return chunk
  }
  const rows: Record<string, number> = {}
  for (const table of carriedTables) {
    const { name } = table
    let count = 0
    let chunk = lineOf(startOf(table))
    for await (const row of db.read(table)) {
      count++
      chunk += lineOf(name === 'payloads' ? [...row, await contentOf(payloadOf(row))] : row)
      if (chunk.length < chunkChars) continue
      yield hashed(chunk)
      chunk = ''
    }
    yield hashed(chunk)
    rows[name] = count
  }
  await beforeEnd()
  const end: ExportEnd = { rows, sha256: checksum.digest('hex') }
  yield lineOf(end)
  return end
}

export function payloadOf(row: CarriedRow): CarriedPayload {
  const { bytes, id, sha256 } = Object.fromEntries(payloadColumns.map(({ name }, at) => [name, row[at]]))
  const digest = typeof bytes === 'number' && typeof sha256 === 'string' ? { bytes, sha256 } : null
  return { id: String(id), digest }
}

export function startOf({ columns, name }: CarriedTable): { table: string; columns: string[] } {
  return { table: name, columns: columns.map((column) => column.name) }
}

function lineOf(value: unknown): string {
  return `${JSON.stringify(value)}\n`
}
