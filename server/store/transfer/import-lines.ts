import { createHash } from 'node:crypto'
import { LineSplitter } from '../../kernel/line-splitter.ts'
import { messageOf } from '../../kernel/thrown.ts'
import {
  exportFormat,
  payloadOf,
  startOf,
  type CarriedPayload,
  type ExportEnd,
  type ExportHeader,
} from './export-lines.ts'
import { carriedTables, type CarriedRow, type CarriedTable } from './carried-tables.ts'
import type { WholeDatabase } from './whole-database.ts'

const batchRows = 500
const batchBytes = 1_048_576
/** Maximum size of a line. A payload is one line in base64. */
const lineBytesMax = 268_435_456
const incomplete = 'The export is incomplete or was changed. Create a new export and import it.'

export type Lines = AsyncGenerator<Buffer, void>

/** Yields the lines of an export. Each line must be used before the next one is read, because its buffer is reused. */
export async function* readLines(chunks: AsyncIterable<Buffer>): Lines {
  const splitter = new LineSplitter(lineBytesMax)
  for await (const chunk of chunks) yield* splitter.split(chunk)
  if (splitter.isTooLong || splitter.rest.length > 0) throw new Error(incomplete)
}

/** Throws if the header is missing or has another format version. */
export async function readHeader(lines: Lines): Promise<ExportHeader> {
  const { value } = await lines.next()
  const header = parse(value ?? Buffer.from('null')) as ExportHeader | null
  if (header?.format !== exportFormat.format)
    throw new Error('The input is not an Errand export. Create one with `errand export`.')
  if (header.version !== exportFormat.version) throw otherVersion()
  return header
}

export type ImportLinesOptions = {
  header: ExportHeader
  /** Stores the content of a payload. `content` is null if the export does not contain it. */
  keepContent: (payload: CarriedPayload, content: string | null) => Promise<void>
}

/** Inserts all rows and checks them against the row counts and the digest in the last line. The caller must commit. */
export async function importLines(
  db: WholeDatabase,
  lines: Lines,
  { header, keepContent }: ImportLinesOptions,
): Promise<ExportEnd> {
  if (header.schema !== db.schema) throw otherVersion()
  const checksum = createHash('sha256')
  const rows: Record<string, number> = {}
  let table: CarriedTable | undefined
  let batch: CarriedRow[] = []
  let bytes = 0
  const insert = async () => {
    if (!table || batch.length === 0) return
    const contents = table.name === 'payloads' ? batch.map((row) => row.pop() as string | null) : []
    if (batch.some((row) => row.length !== table!.columns.length)) throw new Error(incomplete)
    try {
      await db.insert(table, batch)
    } catch (error) {
      throw new Error(
        `The database rejected rows for the table "${table.name}" (${messageOf(error)}). Create a new export and import it.`,
        { cause: error },
      )
    }
    await Promise.all(contents.map((content, at) => keepContent(payloadOf(batch[at]!), content)))
    rows[table.name]! += batch.length
    batch = []
    bytes = 0
  }
  let end: ExportEnd | undefined
  for await (const line of lines) {
    if (end) throw new Error(incomplete)
    const value = parse(line)
    if (Array.isArray(value)) {
      batch.push(value as CarriedRow)
      bytes += line.length
      if (batch.length >= batchRows || bytes >= batchBytes) await insert()
    } else {
      await insert()
      if (isEnd(value)) {
        end = value
        continue
      }
      table = carriedTables[Object.keys(rows).length]
      if (!table || JSON.stringify(value) !== JSON.stringify(startOf(table))) throw otherVersion()
      rows[table.name] = 0
    }
    checksum.update(line).update('\n')
  }
  const isWhole = JSON.stringify(end) === JSON.stringify({ rows, sha256: checksum.digest('hex') })
  if (!end || !isWhole || Object.keys(rows).length !== carriedTables.length) throw new Error(incomplete)
  await db.continueSequences()
  return end
}

function parse(line: Buffer): unknown {
  try {
    return JSON.parse(line.toString()) as unknown
  } catch {
    throw new Error(incomplete)
  }
}

function isEnd(value: unknown): value is ExportEnd {
  return typeof value === 'object' && value !== null && 'sha256' in value
}

function otherVersion(): Error {
  return new Error('Another version of Errand wrote this export. Import it with that version.')
}
