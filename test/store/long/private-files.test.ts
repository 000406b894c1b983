import { chmodSync, globSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openSqliteStore, openSqliteStoreBeside } from '../../../server/store/sqlite/sqlite-store.ts'
import { openAccount, ProcessClient } from '../../runner/process-client.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { runErrand, startProcess } from '../../support/test-process.ts'
import { newFolder, throwCause } from '../sqlite-engine.ts'
import { noLimits } from '../store-world.ts'

let folder: string
let dataDir: string
let warnings: string[]
let options: Parameters<typeof openSqliteStore>[0]

beforeEach(() => {
  folder = newFolder()
  dataDir = join(folder, 'data')
  mkdirSync(dataDir, { mode: 0o755 })
  warnings = []
  const clock = new FakeClock()
  const onWarning = (message: string) => void warnings.push(message)
  options = { dataDir, clock: () => clock, limits: noLimits, onFatal: throwCause, onWarning }
})

afterEach(() => rmSync(folder, { recursive: true, force: true }))

const modeOf = (path: string) => statSync(path).mode & 0o7777

/** Returns the paths in the data directory for which other users have any permission. */
function open(): string[] {
  const paths = [dataDir, ...globSync('**/*', { cwd: dataDir }).map((name) => join(dataDir, name))]
  return paths.filter((path) => (modeOf(path) & 0o077) !== 0)
}

test.each([
  ['server', openSqliteStore],
  ['command', openSqliteStoreBeside],
])('a %s makes a data folder readable by others and its files private, and warns once', async (_, opens) => {
  chmodSync(dataDir, 0o755)
  await opens(options).close()
  const store = opens(options)
  // Creates the WAL and its index, which exist only while the database is open.
  await store.createUser({ email: 'ann@example.com', passwordHash: null, isAdmin: false })
  expect(globSync('errand.db*', { cwd: dataDir }).sort()).toEqual(['errand.db', 'errand.db-shm', 'errand.db-wal'])
  expect(open()).toEqual([])
  await store.close()
  expect(warnings).toEqual([`other users of this machine could read ${dataDir}; restricted the permissions`])
})

test('makes restored files private, including payloads in folders readable by others', async () => {
  await openSqliteStore(options).close()
  writeFileSync(join(dataDir, 'secret'), 'a secret of the tests only')
  mkdirSync(join(dataDir, 'payloads/ab'), { recursive: true })
  writeFileSync(join(dataDir, 'payloads/ab/pay_1.json'), '{}')
  const paths = ['errand.db', 'secret', 'payloads', 'payloads/ab', 'payloads/ab/pay_1.json'].map((name) =>
    join(dataDir, name),
  )
  for (const path of paths) chmodSync(path, statSync(path).isDirectory() ? 0o755 : 0o644)
  warnings.length = 0
  const store = openSqliteStore(options)
  expect(open()).toEqual([])
  await store.close()
  expect(warnings).toEqual([
    `other users of this machine could read ${paths[0]} and 4 more; restricted the permissions`,
  ])
  expect(readFileSync(join(dataDir, 'payloads/ab/pay_1.json'), 'utf8')).toBe('{}')
})

test('leaves a folder shared by all users unchanged with a warning, but protects its files', async () => {
  chmodSync(dataDir, 0o1777)
  await openSqliteStore(options).close()
  expect(modeOf(dataDir)).toBe(0o1777)
  expect(open()).toEqual([dataDir])
  expect(warnings).toEqual([
    `other users of this machine can read ${dataDir}. Change the permissions, because this process cannot`,
  ])
})

test('does not touch other files next to the data', async () => {
  const other = join(dataDir, 'notes.txt')
  writeFileSync(other, '')
  chmodSync(other, 0o644)
  await openSqliteStore(options).close()
  expect(modeOf(other)).toBe(0o644)
})

test('servers and commands leave no data or backup files readable by other users', async () => {
  const { key } = await openAccount(dataDir)
  chmodSync(dataDir, 0o755)
  chmodSync(join(dataDir, 'errand.db'), 0o644)
  writeFileSync(join(dataDir, 'secret'), 'a secret of the tests only')
  chmodSync(join(dataDir, 'secret'), 0o644)
  const server = await startProcess({ dataDir })
  await new ProcessClient(server.url, key).runTask('test.echo', { text: 'x'.repeat(20_000) })
  expect(open()).toEqual([])
  const backup = join(folder, 'backup.db')
  await runErrand(['backup', backup, '--data', dataDir])
  const copies = [backup, `${backup}.payloads`, ...globSync(`${backup}.payloads/**/*`)]
  expect(copies.length).toBeGreaterThan(4)
  expect(copies.filter((path) => (modeOf(path) & 0o077) !== 0)).toEqual([])
  expect(await server.end('SIGTERM')).toBe(0)
  expect(server.log().match(/other users of this machine could read/g)).toHaveLength(1)
  expect(server.log()).toContain(`could read ${dataDir} and 2 more; restricted the permissions`)
})

test('leaves the permissions of a folder with foreign files unchanged, but protects its own files', async () => {
  chmodSync(dataDir, 0o755)
  writeFileSync(join(dataDir, 'server.lock-journal'), '')
  writeFileSync(join(dataDir, 'package.json'), '{}', { mode: 0o644 })
  const store = openSqliteStore(options)
  await store.close()
  expect(open()).toEqual([dataDir, join(dataDir, 'package.json')])
})
