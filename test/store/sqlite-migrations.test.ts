import { rmSync } from 'node:fs'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { lockDataDir } from '../../server/store/sqlite/database.ts'
import { openSqliteStore, openSqliteStoreBeside } from '../../server/store/sqlite/sqlite-store.ts'
import { StoreOpenError } from '../../server/store/store-open-error.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { asNextVersion } from '../support/next-version.ts'
import { newFolder, throwCause, withRaw } from './sqlite-engine.ts'
import { noLimits } from './store-world.ts'

let dataDir: string
let options: Parameters<typeof openSqliteStore>[0]
const applied = () =>
  withRaw(dataDir, (raw) => raw.prepare('SELECT count(*) FROM __drizzle_migrations').pluck().get() as number)

beforeEach(async () => {
  dataDir = newFolder()
  const clock = new FakeClock()
  options = { dataDir, clock: () => clock, limits: noLimits, onFatal: throwCause }
  const store = openSqliteStore(options)
  await store.createUser({ email: 'ada@example.com', passwordHash: null, isAdmin: true })
  await store.close()
})

afterEach(() => rmSync(dataDir, { recursive: true, force: true }))

test('a command without a server rejects an older database, with instructions and no changes', () =>
  asNextVersion(async () => {
    const before = applied()
    expect(() => openSqliteStoreBeside(options)).toThrow(StoreOpenError)
    expect(() => openSqliteStoreBeside(options)).toThrow('Start `errand serve` once to migrate it.')
    expect(applied()).toBe(before)
    await openSqliteStore(options).close()
    await openSqliteStoreBeside(options).close()
  }))

test('does not migrate a data directory while another server holds its lock', () =>
  asNextVersion(async () => {
    const before = applied()
    const other = lockDataDir(dataDir)
    expect(() => openSqliteStore(options)).toThrow(StoreOpenError)
    expect(applied()).toBe(before)
    other.release()
    await openSqliteStore(options).close()
    expect(applied()).toBe(before + 1)
    expect(withRaw(dataDir, (raw) => raw.prepare('SELECT count(*) FROM next_version').pluck().get())).toBe(1)
  }))

test('rejects a database that a newer version migrated', async () => {
  await asNextVersion(() => openSqliteStore(options).close())
  expect(() => openSqliteStore(options)).toThrow('written by a newer version')
})
