import { rmSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { ErrandError } from '../../server/kernel/errors.ts'
import { GroupCommit, type GroupCommitOptions } from '../../server/store/sqlite/group-commit.ts'
import { createNotes, type Notes } from './notes-database.ts'
import { newFolder } from './sqlite-engine.ts'

let dataDir: string
let notes: Notes
let commit: GroupCommit
/** Another connection, which sees only committed data. */
let other: Database.Database
const fatal: unknown[] = []

beforeEach(() => {
  dataDir = newFolder()
  notes = createNotes(join(dataDir, 'notes.db'))
  other = new Database(notes.db.name, { timeout: 0 })
  commit = groupCommit()
})

afterEach(async () => {
  await commit.settled()
  notes.db.close()
  other.close()
  rmSync(dataDir, { recursive: true, force: true })
  expect(fatal.splice(0)).toEqual([])
})

function groupCommit(options: Omit<GroupCommitOptions, 'onFatal'> = {}): GroupCommit {
  return new GroupCommit(notes.db, notes.tally, { onFatal: (cause) => fatal.push(cause), ...options })
}

const visible = () => other.prepare<[], string>('SELECT text FROM notes ORDER BY id').pluck().all()
const tallied = () => other.prepare<[], number>('SELECT value FROM tally').pluck().get()

/** Returns, for each promise, `resolved` or the code of its error. */
async function outcomes(promises: Promise<unknown>[]): Promise<unknown[]> {
  const settled = await Promise.allSettled(promises)
  return settled.map((result) => (result.status === 'fulfilled' ? 'resolved' : (result.reason as ErrandError).code))
}

test('commands of one tick share a transaction, run in order and get their own results', async () => {
  const results = await Promise.all(['a', 'b', 'c'].map((text) => commit.run(() => `${notes.write(text)} ${text}`)))
  expect(results).toEqual(['1 a', '2 b', '3 c'])
  expect(visible()).toEqual(['a', 'b', 'c'])
  expect(notes.tally.writes).toBe(1)
  await commit.run(() => notes.write('d'))
  expect(notes.tally.writes).toBe(2)
  expect(tallied()).toBe(4)
})

test('many slow commands are committed over several ticks, in order', async () => {
  const written: number[] = []
  const commits: number[] = []
  commit = groupCommit({ onCommit: ({ commands }) => commits.push(commands) })
  const work = (n: number) => {
    const end = performance.now() + 1
    while (performance.now() < end);
    notes.write(String(n))
    written.push(n)
  }
  await Promise.all(Array.from({ length: 200 }, (_, n) => commit.run(() => work(n))))
  expect(written).toEqual(Array.from({ length: 200 }, (_, n) => n))
  expect(visible()).toEqual(written.map(String))
  for (const commands of commits) expect(commands).toBeLessThanOrEqual(32)
})

test('a throwing command gets its own error and does not affect the others', async () => {
  const error = new Error('refused')
  const promises = [
    commit.run(() => notes.write('before')),
    commit.run(() => {
      notes.write('undone')
      throw error
    }),
    commit.run(() => notes.write('after')),
  ]
  await expect(promises[1]).rejects.toBe(error)
  expect(await outcomes([promises[0]!, promises[2]!])).toEqual(['resolved', 'resolved'])
  expect(visible()).toEqual(['before', 'after'])
  expect(tallied()).toBe(2)
})

test('rolls a failed command back as a whole and passes its error on unchanged', async () => {
  const thrown = [null, undefined, 'text', new TypeError('a defect')]
  const promises = thrown.map((value) =>
    commit.run(() => {
      notes.write('undone')
      throw value
    }),
  )
  const broken = commit.run(() => {
    notes.write('first of two')
    notes.db.exec("INSERT INTO notes (id, text) VALUES (1, 'taken')")
  })
  const good = commit.run(() => notes.write('good'))
  for (const [index, value] of thrown.entries()) {
    expect(
      await promises[index]!.then(
        () => 'resolved',
        (reason: unknown) => reason,
      ),
    ).toBe(value)
  }
  await expect(broken).rejects.toMatchObject({ code: 'SQLITE_CONSTRAINT_PRIMARYKEY' })
  await good
  expect(visible()).toEqual(['good'])
  expect(tallied()).toBe(1)
})

test('nothing is visible before the commit, and everything when the first command resolves', async () => {
  const seen: string[][] = []
  const promises = ['a', 'b', 'c'].map((text) =>
    commit.run(() => {
      notes.write(text)
      seen.push(visible())
      return visible
    }),
  )
  await promises[0]!.then(() => seen.push(visible()))
  expect(seen).toEqual([[], [], [], ['a', 'b', 'c']])
})

test('a command started by another one waits for the next transaction', async () => {
  let inner: Promise<unknown> | undefined
  await commit.run(() => {
    notes.write('outer')
    inner = commit.run(() => notes.write('inner'))
  })
  expect(visible()).toEqual(['outer'])
  await inner
  expect(visible()).toEqual(['outer', 'inner'])
  expect(notes.tally.writes).toBe(2)
})

test('settled() waits for commands started before it', async () => {
  const order: string[] = []
  const run = commit.run(() => notes.write('a')).then(() => order.push('answered'))
  await commit.settled()
  await run
  order.push('settled')
  expect(order).toEqual(['answered', 'settled'])
})

/** Gives a waiting command time for a few retries. */
async function passTurns(): Promise<void> {
  for (let turns = 0; turns < 20; turns++) await new Promise((resolve) => setTimeout(resolve, 1))
}

async function isAnswered(promise: Promise<unknown>): Promise<boolean> {
  let answered = false
  promise.then(
    () => (answered = true),
    () => (answered = true),
  )
  await new Promise((resolve) => setImmediate(resolve))
  return answered
}

const large = 'x'.repeat(200_000)

/** Lets the database grow by only this many pages, as on a nearly full disk. */
function leaveRoom(pages: number): void {
  const used = notes.db.pragma('page_count', { simple: true }) as number
  notes.db.pragma(`max_page_count = ${used + pages}`)
}

test('a full database fails the whole batch with 503, writes nothing and recovers', async () => {
  await commit.run(() => notes.write('earlier'))
  leaveRoom(5)
  let ranAfter = false
  const promises = [
    commit.run(() => notes.write('small')),
    commit.run(() => notes.write(large)),
    commit.run(() => {
      ranAfter = true
      return notes.write('after')
    }),
  ]
  expect(await outcomes(promises)).toEqual(['SERVICE_UNAVAILABLE', 'SERVICE_UNAVAILABLE', 'SERVICE_UNAVAILABLE'])
  await expect(promises[0]).rejects.toMatchObject({ cause: { code: 'SQLITE_FULL' }, retryAfterSeconds: 1 })
  expect(ranAfter).toBe(false)
  expect(notes.db.inTransaction).toBe(false)
  expect(visible()).toEqual(['earlier'])
  expect(await outcomes([commit.run(() => notes.write('there is room for this'))])).toEqual(['resolved'])
  notes.db.pragma('max_page_count = 1000000')
  await commit.run(() => notes.write(large))
  expect(visible()).toEqual(['earlier', 'there is room for this', large])
  expect(tallied()).toBe(3)
})

test('a full database fails the batch even if only the statement was rolled back', async () => {
  await commit.run(() => notes.write('earlier'))
  leaveRoom(5)
  let wasOpen = false
  const promises = [
    commit.run(() => notes.write('small')),
    commit.run(() => {
      try {
        // An insert of several rows uses a statement journal. If it fails, SQLite rolls back only that statement.
        notes.writeMany(large, 3)
      } finally {
        wasOpen = notes.db.inTransaction
      }
    }),
    commit.run(() => notes.write('after')),
  ]
  expect(await outcomes(promises)).toEqual(['SERVICE_UNAVAILABLE', 'SERVICE_UNAVAILABLE', 'SERVICE_UNAVAILABLE'])
  expect(wasOpen).toBe(true)
  expect(visible()).toEqual(['earlier'])
  expect(await outcomes([commit.run(() => notes.write('small'))])).toEqual(['resolved'])
  expect(tallied()).toBe(2)
})

test('fails the whole batch if its totals do not fit in the database', async () => {
  await commit.run(() => notes.write('earlier'))
  notes.tally.fails = new Database.SqliteError('database or disk is full', 'SQLITE_FULL')
  const promises = [commit.run(() => notes.write('a')), commit.run(() => 'no write')]
  expect(await outcomes(promises)).toEqual(['SERVICE_UNAVAILABLE', 'SERVICE_UNAVAILABLE'])
  expect(visible()).toEqual(['earlier'])
  notes.tally.fails = undefined
  await commit.run(() => notes.write('later'))
  expect(visible()).toEqual(['earlier', 'later'])
  expect(tallied()).toBe(2)
})

test('commands wait for another writing process without blocking the event loop', async () => {
  other.exec('BEGIN IMMEDIATE')
  const first = commit.run(() => notes.write('first'))
  await passTurns()
  const second = commit.run(() => notes.write('second'))
  await passTurns()
  expect(await isAnswered(first)).toBe(false)
  expect(notes.db.prepare('SELECT count(*) FROM notes').pluck().get()).toBe(0)
  other.exec('COMMIT')
  await Promise.all([first, second])
  expect(visible()).toEqual(['first', 'second'])
  expect(notes.tally.writes).toBe(1)
})

test('a writer that takes too long makes waiting commands fail with 503 without running', async () => {
  commit = groupCommit({ busyMsMax: 20, busyPauseMs: 1 })
  other.exec('BEGIN IMMEDIATE')
  const promises = [commit.run(() => notes.write('a')), commit.run(() => notes.write('b'))]
  expect(await outcomes(promises)).toEqual(['SERVICE_UNAVAILABLE', 'SERVICE_UNAVAILABLE'])
  await expect(promises[0]).rejects.toMatchObject({ cause: { code: 'SQLITE_BUSY' } })
  // The time limit restarts for the next command.
  const later = commit.run(() => notes.write('later'))
  other.exec('COMMIT')
  await later
  expect(visible()).toEqual(['later'])
  expect(tallied()).toBe(1)
})

test('each wait for another writer gets the full time, regardless of earlier waits', async () => {
  // Time moves only when the test advances it, so nothing else can end the wait.
  vi.useFakeTimers({ toFake: ['performance'] })
  try {
    other.exec('BEGIN IMMEDIATE')
    const first = commit.run(() => notes.write('first'))
    await passTurns()
    other.exec('COMMIT')
    await first
    vi.advanceTimersByTime(6000)
    other.exec('BEGIN IMMEDIATE')
    const second = commit.run(() => notes.write('second'))
    await passTurns()
    expect(await isAnswered(second)).toBe(false)
    vi.advanceTimersByTime(6000)
    expect(await outcomes([second])).toEqual(['SERVICE_UNAVAILABLE'])
    const third = commit.run(() => notes.write('third'))
    await passTurns()
    expect(await isAnswered(third)).toBe(false)
    other.exec('COMMIT')
    await third
    expect(visible()).toEqual(['first', 'third'])
  } finally {
    vi.useRealTimers()
  }
})

test('commands on a closed database fail with 503', async () => {
  const closed = createNotes(join(dataDir, 'closed.db'))
  const late = new GroupCommit(closed.db, closed.tally, { onFatal: (cause) => fatal.push(cause) })
  closed.db.close()
  expect(await outcomes([late.run(() => 'never')])).toEqual(['SERVICE_UNAVAILABLE'])
  await late.settled()
})
