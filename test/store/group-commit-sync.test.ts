import { closeSync, openSync, readFileSync, rmSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { GroupCommit } from '../../server/store/sqlite/group-commit.ts'
import { rewriteLog } from '../../server/store/sqlite/rewrite-log.ts'
import { createNotes, type Notes } from './notes-database.ts'
import { newFolder } from './sqlite-engine.ts'

let dataDir: string
let notes: Notes
let commit: GroupCommit
/** Another connection, which sees what is committed. */
let other: Database.Database
/** The syncs that have begun. */
let syncs: PromiseWithResolvers<void>[]
let fatal: unknown[]
let repair: () => void

beforeEach(() => {
  dataDir = newFolder()
  notes = createNotes(join(dataDir, 'notes.db'))
  other = new Database(notes.db.name, { timeout: 0 })
  syncs = []
  fatal = []
  const sync = () => {
    syncs.push(Promise.withResolvers())
    return syncs.at(-1)!.promise
  }
  repair = () => rewriteLog(notes.db, `${notes.db.name}-wal`)
  const onFatal = (cause: unknown) => fatal.push(cause)
  commit = new GroupCommit(notes.db, notes.tally, { sync, repair: () => repair(), onFatal })
})

afterEach(async () => {
  await commit.settled()
  notes.db.close()
  other.close()
  rmSync(dataDir, { recursive: true, force: true })
})

const visible = () => other.prepare<[], string>('SELECT text FROM notes ORDER BY id').pluck().all()
const ticks = async () => {
  for (let n = 0; n < 5; n++) await new Promise(setImmediate)
}

/** Notes what each promise becomes, in order. */
function watch(promises: Record<string, Promise<unknown>>): string[] {
  const seen: string[] = []
  for (const [name, promise] of Object.entries(promises))
    promise.then(
      () => seen.push(name),
      (error: { code: string }) => seen.push(`${name}: ${error.code}`),
    )
  return seen
}

test('what is committed is answered after its sync, and commands that come meanwhile share the next one', async () => {
  const seen = watch({ a: commit.run(() => notes.write('a')) })
  await ticks()
  expect([visible(), seen, syncs.length]).toEqual([['a'], [], 1])
  const later = watch({ b: commit.run(() => notes.write('b')), c: commit.run(() => notes.write('c')) })
  await ticks()
  expect([visible(), syncs.length]).toEqual([['a'], 1])
  syncs[0]!.resolve()
  await ticks()
  expect([seen, later, visible(), syncs.length]).toEqual([['a'], [], ['a', 'b', 'c'], 2])
  syncs[1]!.resolve()
  await ticks()
  expect(later).toEqual(['b', 'c'])
})

test('whoever reads in the meantime can wait for the sync', async () => {
  expect(commit.mustWait).toBe(false)
  const seen = watch({ a: commit.run(() => notes.write('a')) })
  await ticks()
  expect(commit.mustWait).toBe(true)
  void commit.durable().then(() => seen.push('durable'))
  syncs[0]!.resolve()
  await ticks()
  expect([seen, commit.mustWait]).toEqual([['a', 'durable'], false])
})

test('after a failed sync the log is written again, and the commands succeed', async () => {
  const seen = watch({ a: commit.run(() => notes.write('a')) })
  await ticks()
  const log = readFileSync(`${notes.db.name}-wal`)
  syncs[0]!.reject(new Error('EIO'))
  await ticks()
  expect([seen, fatal]).toEqual([['a'], []])
  expect(readFileSync(`${notes.db.name}-wal`).equals(log)).toBe(true)
  void commit.run(() => notes.write('b'))
  await ticks()
  syncs[1]!.resolve()
  await ticks()
  expect(visible()).toEqual(['a', 'b'])
})

test('if the kernel has lost pages of the log, nobody is told of success, no read is answered, and the process is to end', async () => {
  const seen = watch({ a: commit.run(() => notes.write('a')) })
  await ticks()
  const read = watch({ read: commit.durable() })
  const later = watch({ b: commit.run(() => notes.write('b')) })
  const log = openSync(`${notes.db.name}-wal`, 'r+')
  writeSync(log, Buffer.alloc(100), 0, 100, statSync(`${notes.db.name}-wal`).size - 100)
  closeSync(log)
  syncs[0]!.reject(new Error('EIO'))
  await ticks()
  const refused = 'SERVICE_UNAVAILABLE'
  expect([seen, later, read]).toEqual([[`a: ${refused}`], [`b: ${refused}`], [`read: ${refused}`]])
  expect(fatal).toHaveLength(1)
  expect([commit.mustWait, commit.isFailing, await commit.canWrite()]).toEqual([true, true, false])
})

test('commands that a failed transaction left to the next one are run', async () => {
  const long = (text: string) => () => {
    for (const until = performance.now() + 2; performance.now() < until;) continue
    return notes.write(text)
  }
  const write = notes.tally.write.bind(notes.tally)
  notes.tally.write = () => {
    notes.tally.write = write
    throw new Error('The disk is full.')
  }
  const seen = watch(Object.fromEntries(Array.from({ length: 60 }, (_, n) => [String(n), commit.run(long(String(n)))])))
  for (let n = 0; seen.length < 60 && n < 200; n++) {
    await ticks()
    for (const sync of syncs) sync.resolve()
  }
  expect(seen).toHaveLength(60)
  expect(visible().length).toBe(seen.filter((one) => !one.includes('SERVICE')).length)
  expect(visible().length).toBeGreaterThan(0)
})
