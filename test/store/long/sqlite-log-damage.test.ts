import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { StoreOpenError } from '../../../server/store/store-open-error.ts'
import { databaseFile, openConnection } from '../../../server/store/sqlite/database.ts'
import { findLogDamage } from '../../../server/store/sqlite/damage/log-damage.ts'
import { Random } from '../../faults/fault-report.ts'
import { newFolder } from '../sqlite-engine.ts'

const headerBytes = 32
const frameBytes = 24 + 4096
const sectorBytes = 512
const commits = 12
const random = new Random()

let folder: string
let db: Database.Database
/** The files that a crash would leave behind at this moment. */
type Crashed = { database: Buffer; log: Buffer }

beforeEach(() => {
  folder = newFolder()
  db = new Database(join(folder, 'live.db'))
  db.pragma('journal_mode = WAL')
  db.pragma('synchronous = FULL')
  db.pragma('wal_autocheckpoint = 0')
  db.exec('CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT); CREATE INDEX notes_text ON notes (text)')
})

afterEach(() => {
  db.close()
  rmSync(folder, { recursive: true })
})

/** Commits a transaction that writes a few pages. Later transactions write some of the same pages. */
function commitNote(on: Database.Database = db, rows = 3): void {
  const insert = on.prepare('INSERT INTO notes (text) VALUES (?)')
  on.transaction(() => {
    for (let row = 0; row < rows; row++) insert.run(String(random.next()).repeat(100).slice(0, 900))
  })()
}

function crashed(): Crashed {
  return { database: readFileSync(db.name), log: readFileSync(`${db.name}-wal`) }
}

let folders = 0

function put({ database, log }: Crashed): string {
  const dataDir = join(folder, `crashed-${++folders}`)
  mkdirSync(dataDir)
  writeFileSync(databaseFile(dataDir), database)
  writeFileSync(`${databaseFile(dataDir)}-wal`, log)
  return dataDir
}

/**
 * Returns the number of transactions that SQLite recovers, with three rows each. Modifies the folder, so use it once.
 */
function readable(dataDir: string): number {
  const reader = new Database(databaseFile(dataDir))
  try {
    return reader.prepare<[], number>('SELECT count(*) FROM notes').pluck().get()! / 3
  } catch {
    return 0
  } finally {
    reader.close()
  }
}

/** Returns the end offset of each transaction in the WAL. */
function endsOf(log: Buffer): number[] {
  const ends: number[] = []
  for (let at = headerBytes; at + frameBytes <= log.length; at += frameBytes) {
    if (log.readUInt32BE(at + 4) !== 0) ends.push(at + frameBytes)
  }
  return ends
}

function flip(log: Buffer, at: number): Buffer {
  const flipped = Buffer.from(log)
  flipped[at]! ^= 1 << random.below(8)
  return flipped
}

function isFound(files: Crashed): boolean {
  const dataDir = put(files)
  const found = findLogDamage(databaseFile(dataDir)) !== undefined
  rmSync(dataDir, { recursive: true })
  return found
}

test('a flipped bit either is detected or costs at most the last transaction', () => {
  for (let n = 0; n < commits; n++) commitNote()
  const { database, log } = crashed()
  const ends = endsOf(log)
  const before = ends.length - commits
  const last = ends.at(-2)!
  let found = 0
  // Damages the WAL header, the frame header of the last commit that has a successor, some earlier frame headers, and
  // random bytes.
  const headOf = (end: number) => Array.from({ length: 24 }, (_, n) => end - frameBytes + n)
  const heads = ends.slice(before, -2).flatMap(headOf)
  const places = [
    ...Array.from({ length: headerBytes }, (_, at) => at),
    ...headOf(last),
    ...heads.filter((_, n) => n % 5 === 0),
    ...Array.from({ length: 60 }, () => random.below(log.length)),
  ]
  for (const at of places) {
    const dataDir = put({ database, log: flip(log, at) })
    if (findLogDamage(databaseFile(dataDir))) found++
    else {
      const lost = commits - readable(dataDir)
      const what = `a bit of byte ${at} of ${log.length}, seed ${random.seed}`
      expect(lost, what).toBeLessThanOrEqual(at >= last ? 1 : 0)
    }
    rmSync(dataDir, { recursive: true })
  }
  expect(found).toBeGreaterThan(headerBytes)
})

test('detects damage if a flipped bit erases a commit mark before another commit', () => {
  for (let n = 0; n < commits * 4; n++) commitNote(db, 1)
  const { database, log } = crashed()
  const ends = endsOf(log)
  // A frame's commit mark is the database size in pages, which is a single bit if that is a power of two.
  const at = ends.findIndex((end, n) => {
    const pages = log.readUInt32BE(end - frameBytes + 4)
    return n > 0 && n + 1 < ends.length && (pages & (pages - 1)) === 0
  })
  expect(at).toBeGreaterThan(0)
  const upToNext = Buffer.from(log.subarray(0, ends[at + 1]))
  upToNext.writeUInt32BE(0, ends[at]! - frameBytes + 4)
  expect(isFound({ database, log: upToNext })).toBe(true)
})

test('does not report a last transaction torn by a power loss as damage', () => {
  // The log contains a partly overwritten generation, whose old frames follow those of the next one.
  for (let n = 0; n < commits * 2; n++) commitNote()
  const older = readFileSync(`${db.name}-wal`)
  db.pragma('wal_checkpoint(RESTART)')
  for (let n = 0; n < commits; n++) {
    const synced = crashed()
    commitNote()
    const { database, log } = crashed()
    const from = n === 0 ? headerBytes : endOfGeneration(synced.log)
    const to = endOfGeneration(log)
    for (let tries = 0; tries < 12; tries++) {
      const torn = Buffer.from(log)
      for (let at = from; at < to; at = nextSector(at)) {
        const until = Math.min(to, nextSector(at))
        const kept = random.below(3)
        if (kept === 0) older.copy(torn, at, at, until)
        if (kept === 1 && random.below(2) === 0) torn.fill(0, at, until)
      }
      const cut = random.below(2) === 0 ? torn : torn.subarray(0, from + random.below(to - from))
      expect(isFound({ database, log: cut }), `seed ${random.seed}`).toBe(false)
    }
  }
})

const nextSector = (at: number) => (Math.floor(at / sectorBytes) + 1) * sectorBytes

/** Returns the end of the last frame that has the salts of the WAL header. */
function endOfGeneration(log: Buffer): number {
  let at = headerBytes
  while (at + frameBytes <= log.length && log.subarray(at + 8, at + 16).equals(log.subarray(16, 24))) at += frameBytes
  return at
}

test('does not mistake half of an old frame header for a commit', () => {
  commitNote()
  const before = endsOf(crashed().log).at(-1)!
  commitNote(db, 150)
  const { database, log } = crashed()
  let torn = 0
  for (let at = before; at + 2 * frameBytes <= endsOf(log).at(-1)!; at += frameBytes) {
    if (at % sectorBytes !== sectorBytes - 8) continue
    const half = Buffer.from(log)
    half.writeUInt32BE(7, at)
    half.writeUInt32BE(9, at + 4)
    expect(isFound({ database, log: half })).toBe(false)
    torn++
  }
  expect(torn).toBeGreaterThan(0)
})

test('does not report leftovers of failed commits as damage', () => {
  commitNote()
  const { database } = crashed()
  let { log } = crashed()
  for (let failures = 0; failures < 6; failures++) {
    // A transaction is written, its sync fails, and a shorter transaction overwrites its beginning.
    const failed = writtenAfter({ database, log }, (writer) => commitNote(writer, 3 * (6 - failures)))
    const probe = writtenAfter({ database, log }, (writer) => writer.exec('UPDATE notes SET id = id WHERE id = 1'))
    expect(failed.end).toBeGreaterThan(probe.end)
    log = Buffer.concat([probe.log.subarray(0, probe.end), failed.log.subarray(probe.end)])
    expect(isFound({ database, log })).toBe(false)
  }
})

/** Returns the WAL after one more transaction, and the offset at which that transaction ends. */
function writtenAfter(files: Crashed, write: (writer: Database.Database) => void): { log: Buffer; end: number } {
  const dataDir = put(files)
  const writer = new Database(databaseFile(dataDir))
  writer.pragma('wal_autocheckpoint = 0')
  write(writer)
  const log = readFileSync(`${writer.name}-wal`)
  const [{ log: frames }] = writer.pragma('wal_checkpoint(PASSIVE)') as [{ log: number }]
  writer.close()
  return { log, end: headerBytes + frames * frameBytes }
}

test('does not report a log that is missing, empty or without frames as damage', () => {
  commitNote()
  const { database, log } = crashed()
  for (const left of [Buffer.alloc(0), log.subarray(0, 20), log.subarray(0, headerBytes), Buffer.alloc(log.length)]) {
    expect(isFound({ database, log: left })).toBe(false)
  }
  const dataDir = put({ database, log })
  rmSync(`${databaseFile(dataDir)}-wal`)
  expect(findLogDamage(databaseFile(dataDir))).toBeUndefined()
})

test('the error names the file and a command that recovers everything before the damage', () => {
  for (let n = 0; n < commits; n++) commitNote()
  const { database, log } = crashed()
  const ends = endsOf(log)
  const kept = 5
  const cutAt = ends.at(kept - commits - 1)!
  const dataDir = put({ database, log: flip(log, cutAt + 24 + 100) })
  const file = `${databaseFile(dataDir)}-wal`
  const untouched = readFileSync(file)
  const refusal = new StoreOpenError(
    `The log ${file} is damaged after byte ${cutAt}, and ${commits - kept} later commits are readable after the ` +
      'damage. Restore a backup, or stop Errand and truncate the log, which loses the later commits: ' +
      `truncate -s ${cutAt} '${file}'`,
  )
  expect(() => openConnection(dataDir, 0)).toThrow(refusal)
  expect(readFileSync(file).equals(untouched)).toBe(true)
  truncateSync(file, cutAt)
  openConnection(dataDir, 0).close()
  expect(readable(dataDir)).toBe(kept)
})

test('suggests emptying a fully checkpointed log, but does not suggest truncating a partly checkpointed one', () => {
  for (let n = 0; n < commits; n++) commitNote()
  const { log } = crashed()
  db.pragma('wal_checkpoint(FULL)')
  const damaged = flip(log, endsOf(log).at(-6)! + 24 + 100)
  const dataDir = put({ database: readFileSync(db.name), log: damaged })
  const file = `${databaseFile(dataDir)}-wal`
  expect(() => openConnection(dataDir, 0)).toThrow(`truncate -s 0 '${file}'`)
  truncateSync(file, 0)
  openConnection(dataDir, 0).close()
  expect(readable(dataDir)).toBe(commits)

  for (let n = 0; n < commits; n++) commitNote()
  const half = put({ database: readFileSync(db.name), log: readFileSync(`${db.name}-wal`) })
  const reader = new Database(databaseFile(half), { readonly: true })
  const begun = reader.prepare('SELECT count(*) FROM notes').iterate()
  begun.next()
  const writer = new Database(databaseFile(half))
  for (let n = 0; n < commits; n++) commitNote(writer)
  writer.pragma('wal_checkpoint(PASSIVE)')
  const log2 = readFileSync(`${writer.name}-wal`)
  const moved = put({ database: readFileSync(writer.name), log: flip(log2, headerBytes + frameBytes + 24 + 100) })
  begun.return?.()
  reader.close()
  writer.close()
  expect(() => openConnection(moved, 0)).toThrow('The log cannot be truncated, because')
})

test('finds no damage in a log that a running server is writing', () => {
  copyFileSync(db.name, join(folder, 'errand.db'))
  expect(existsSync(databaseFile(folder))).toBe(true)
  const writer = new Database(databaseFile(folder))
  writer.pragma('wal_autocheckpoint = 20')
  writer.exec('CREATE TABLE IF NOT EXISTS notes (id INTEGER PRIMARY KEY, text TEXT)')
  for (let n = 0; n < 60; n++) {
    commitNote(writer)
    expect(findLogDamage(databaseFile(folder))).toBeUndefined()
  }
  writer.close()
})
