import { rmSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { GroupCommit } from '../../server/store/sqlite/group-commit.ts'
import { createNotes, type Notes } from './notes-database.ts'
import { newFolder } from './sqlite-engine.ts'

// Only a broken disk makes a sync fail, so here the statement that would sync throws instead. Everything else is real.

let dataDir: string
let notes: Notes
let other: Database.Database
let commit: GroupCommit
/** Errors that the next runs of a statement throw, by its SQL. */
let faults: Map<string, unknown[]>
let fatal: unknown[]

const syncFailed = () => new Database.SqliteError('disk I/O error', 'SQLITE_IOERR_FSYNC')

beforeEach(() => {
  dataDir = newFolder()
  notes = createNotes(join(dataDir, 'notes.db'))
  other = new Database(notes.db.name, { timeout: 0 })
  faults = new Map()
  fatal = []
  commit = new GroupCommit(withFaults(notes.db), notes.tally, { onFatal: (cause) => fatal.push(cause) })
})

afterEach(() => {
  notes.db.close()
  other.close()
  rmSync(dataDir, { recursive: true, force: true })
})

function withFaults(db: Database.Database): Database.Database {
  const prepare = (sql: string) => {
    const statement = db.prepare(sql)
    const run = () => {
      const fault = faults.get(sql)?.shift()
      if (typeof fault === 'function') fault()
      else if (fault !== undefined) throw fault
      return statement.run()
    }
    return { run }
  }
  return new Proxy(db, { get: (target, name) => (name === 'prepare' ? prepare : Reflect.get(target, name, target)) })
}

const visible = () => other.prepare<[], string>('SELECT text FROM notes ORDER BY id').pluck().all()
const probes = () => other.prepare<[], number>('SELECT value FROM probes').pluck().get()
const unavailable = { code: 'SERVICE_UNAVAILABLE', retryAfterSeconds: 1 }

test('a failed COMMIT fails every command of the batch, and the store recovers', async () => {
  faults.set('COMMIT', [syncFailed()])
  const refusal = new Error('refused')
  const promises = [
    commit.run(() => notes.write('a')),
    commit.run(() => 'a replay of a'),
    commit.run(() => {
      throw refusal
    }),
  ]
  for (const promise of promises) {
    await expect(promise).rejects.toMatchObject({ ...unavailable, message: expect.stringContaining('Idempotency-Key') })
  }
  expect(visible()).toEqual([])
  expect(probes()).toBe(1)
  await commit.run(() => notes.write('b'))
  expect(visible()).toEqual(['b'])
  expect(fatal).toEqual([])
})

test('a COMMIT that fails for lack of space needs no probe write', async () => {
  faults.set('COMMIT', [new Database.SqliteError('database or disk is full', 'SQLITE_FULL')])
  await expect(commit.run(() => notes.write('a'))).rejects.toMatchObject(unavailable)
  expect(visible()).toEqual([])
  expect(probes()).toBe(0)
  await commit.run(() => notes.write('b'))
  expect(visible()).toEqual(['b'])
  expect(fatal).toEqual([])
})

test('a commit that happened but reported failure is never reported as success', async () => {
  const commitAndFail = () => {
    notes.db.exec('COMMIT')
    throw syncFailed()
  }
  faults.set('COMMIT', [commitAndFail])
  await expect(commit.run(() => notes.write('a'))).rejects.toMatchObject(unavailable)
  expect(probes()).toBe(1)
  expect(await commit.run(() => visible())).toEqual(['a'])
  expect(fatal).toEqual([])
})

test('if commits keep failing, reports one fatal error and rejects everything', async () => {
  const second = syncFailed()
  faults.set('COMMIT', [syncFailed(), second])
  let waiting: Promise<unknown> | undefined
  const failed = commit.run(() => {
    waiting = commit.run(() => notes.write('waiting'))
    waiting.catch(() => {})
    return notes.write('a')
  })
  await expect(failed).rejects.toMatchObject(unavailable)
  await expect(waiting).rejects.toMatchObject(unavailable)
  expect(fatal).toEqual([second])
  for (let tries = 0; tries < 3; tries++) {
    await expect(commit.run(() => notes.write('later'))).rejects.toMatchObject({ ...unavailable, cause: second })
  }
  await commit.settled()
  expect(fatal).toEqual([second])
  expect(visible()).toEqual([])
})

test('after a fatal error, rejects leftover commands and starts no more transactions', async () => {
  let begun = 0
  faults.set('BEGIN IMMEDIATE', Array(10).fill(() => void begun++) as (() => void)[])
  faults.set('COMMIT', [syncFailed(), syncFailed()])
  const slow = () => {
    const end = performance.now() + 1
    while (performance.now() < end);
    notes.write('slow')
  }
  const results = await Promise.allSettled(Array.from({ length: 100 }, () => commit.run(slow)))
  const before = begun
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect(results.filter(({ status }) => status === 'fulfilled')).toEqual([])
  expect(fatal.length).toBe(1)
  expect(begun).toBe(before)
  expect(visible()).toEqual([])
})

test('a probe write that fails is as fatal as a probe write that cannot be committed', async () => {
  const cause = new Database.SqliteError('disk I/O error', 'SQLITE_IOERR_WRITE')
  faults.set('COMMIT', [syncFailed()])
  faults.set('UPDATE probes SET value = value + 1 WHERE id = 1', [cause])
  await expect(commit.run(() => notes.write('a'))).rejects.toMatchObject(unavailable)
  expect(fatal).toEqual([cause])
})

test('a failed COMMIT followed by a failed ROLLBACK is fatal and still answers callers', async () => {
  const cause = syncFailed()
  faults.set('COMMIT', [syncFailed()])
  faults.set('ROLLBACK', [cause])
  await expect(commit.run(() => notes.write('a'))).rejects.toMatchObject(unavailable)
  expect(fatal).toEqual([cause])
})

test('a disk error inside a command fails the whole batch', async () => {
  const promises = [
    commit.run(() => notes.write('a')),
    commit.run(() => {
      throw new Database.SqliteError('disk I/O error', 'SQLITE_IOERR_READ')
    }),
    commit.run(() => notes.write('b')),
  ]
  for (const promise of promises) await expect(promise).rejects.toMatchObject(unavailable)
  expect(visible()).toEqual([])
  expect(fatal).toEqual([])
})

test('a disk error in a command followed by a failed ROLLBACK still answers every caller', async () => {
  faults.set('ROLLBACK', [
    () => {
      notes.db.exec('ROLLBACK')
      throw syncFailed()
    },
  ])
  const promises = [
    commit.run(() => notes.write('a')),
    commit.run(() => {
      throw new Database.SqliteError('disk I/O error', 'SQLITE_IOERR_READ')
    }),
  ]
  const answers: unknown[] = []
  for (const promise of promises) promise.catch((error: unknown) => answers.push(error))
  for (let turns = 0; turns < 10; turns++) await new Promise((resolve) => setImmediate(resolve))
  expect(answers).toMatchObject([unavailable, unavailable])
  expect(visible()).toEqual([])
})

for (const sql of ['SAVEPOINT command', 'RELEASE command']) {
  test(`a disk error at ${sql} fails the whole batch, and the next one works`, async () => {
    faults.set(sql, [() => {}, syncFailed()])
    const promises = [commit.run(() => notes.write('a')), commit.run(() => notes.write('b'))]
    for (const promise of promises) await expect(promise).rejects.toMatchObject(unavailable)
    expect(visible()).toEqual([])
    await commit.run(() => notes.write('c'))
    expect(visible()).toEqual(['c'])
    expect(fatal).toEqual([])
  })
}

test('a BEGIN that fails for any reason except a busy writer returns 503 immediately', async () => {
  faults.set('BEGIN IMMEDIATE', [new Database.SqliteError('disk I/O error', 'SQLITE_IOERR_LOCK')])
  await expect(commit.run(() => notes.write('a'))).rejects.toMatchObject(unavailable)
  await commit.run(() => notes.write('b'))
  expect(visible()).toEqual(['b'])
})
