import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { newId } from '../../../../server/kernel/ids.ts'
import { digestOf } from '../../../../server/payloads/payload-digest.ts'
import { payloadFile } from '../../../../server/payloads/file-payload-store.ts'
import { databaseFile, lockDataDir } from '../../../../server/store/sqlite/database.ts'
import { throwCause, withRaw } from '../../../store/sqlite-engine.ts'
import { openSqliteStore } from '../../../../server/store/sqlite/sqlite-store.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { temporaryFolder } from '../../../support/resources.ts'
import { runErrand, startProcess } from '../../../support/test-process.ts'
import { noLimits } from '../../../store/store-world.ts'
import { besideServer, openAccount, ProcessClient } from '../../process-client.ts'

type Failure = { code: number; stderr: string }

const refusalOf = (args: string[], env = {}): Promise<string> =>
  runErrand(args, env).then(
    () => 'none',
    ({ stderr }: Failure) => stderr,
  )
const restoreJson = async (backup: string, dataDir: string, ...more: string[]) =>
  JSON.parse(await runErrand(['restore', backup, '--data', dataDir, '--json', ...more])) as Record<string, any>

/** Adds a payload with its file to a data directory, whose task need not exist. */
function addPayload(dataDir: string, id: string, content: string): void {
  const { bytes, sha256 } = digestOf(Buffer.from(content))
  withRaw(dataDir, (raw) =>
    raw
      .prepare('INSERT INTO payloads (id, task_id, created_at, bytes, sha256) VALUES (?, ?, 1, ?, ?)')
      .run(id, `task_of_${id}`, bytes, sha256),
  )
  const file = payloadFile(join(dataDir, 'payloads'), id)
  mkdirSync(join(file, '..'), { recursive: true })
  writeFileSync(file, content)
}

const payloadIds = { one: newId('pay', 1), old: newId('pay', 2), new: newId('pay', 3) }

const usersIn = (dataDir: string): string[] =>
  withRaw(dataDir, (raw) => raw.prepare<[], string>('SELECT email FROM users ORDER BY email').pluck().all())

test('restores a backup of a running server, names the open work, and the new server continues it', async () => {
  const folder = temporaryFolder('restore')
  const [dataDir, restored, backup] = ['data', 'restored', 'backup.db'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ]
  const { key, userId } = await openAccount(dataDir)
  const server = await startProcess({ dataDir })
  const client = new ProcessClient(server.url, key)
  const large = await client.runTask('test.echo', { text: 'x'.repeat(20_000) })
  const running = await client.createTask('test.wait', { ms: 14_000 })
  await expect.poll(async () => (await client.get(`/api/tasks/${running.body.taskId}`)).body.status).toBe('processing')
  await runErrand(['backup', backup, '--data', dataDir])
  expect(await refusalOf(['restore', backup, '--data', dataDir, '--replace'])).toBe(
    `errand: Another Errand server is using the data directory ${dataDir}. Stop it, or choose another directory with --data.\n`,
  )
  await server.end('SIGKILL')

  const queuedId = await addQueued(backup, userId)
  const found = await restoreJson(backup, restored)
  expect(found).toMatchObject({
    accounts: 1,
    previous: null,
    migrated: false,
    secretMatches: false,
    runningTasks: { count: 1, ids: [running.body.taskId] },
    queuedTasks: { count: 1, ids: [queuedId] },
    openTurns: { count: 0, ids: [] },
    missingPayloads: [],
  })
  expect(found.newestTransactionAt).toMatch(/^20\d\d-/)
  expect(statSync(join(restored, 'errand.db')).mode & 0o077).toBe(0)
  expect(readdirSync(restored).filter((name) => name.startsWith('restore'))).toEqual([])

  cpSync(join(dataDir, 'secret'), join(restored, 'secret'))
  const next = await startProcess({ dataDir: restored })
  const reader = new ProcessClient(next.url, key)
  const { body: task } = await reader.get(`/api/tasks/${large.id}`)
  expect(await (await fetch(task.responseUri)).json()).toEqual({ text: 'x'.repeat(20_000) })
  expect((await reader.get(`/api/tasks/${queuedId}?wait=20`)).body.status).toBe('completed')
  expect((await reader.get(`/api/tasks/${running.body.taskId}?wait=20`)).body.status).toBe('failed')
  expect(await next.end('SIGTERM')).toBe(0)
})

/** Adds a queued task to a backup, as if the backup had been made before the task ran. */
async function addQueued(backup: string, userId: string): Promise<string> {
  const folder = temporaryFolder('queued')
  cpSync(backup, join(folder, 'errand.db'))
  const taskId = newId('task', Date.now())
  await besideServer(folder, async (store) => {
    const request = { text: '{}', payloadId: null }
    const task = { userId, agentId: 'test', endpointId: 'test.free', cost: 0, request }
    await store.admitTask({ ...task, taskId, connectorIds: null, idempotency: null })
  })
  const changed = join(folder, 'changed.db')
  await besideServer(folder, (store) => store.backup(changed))
  cpSync(changed, backup)
  return taskId
}

test('rejects unusable backups and existing databases, and then changes nothing', async () => {
  const folder = temporaryFolder('restore')
  const dataDir = join(folder, 'data')
  const backup = join(folder, 'backup.db')
  await openAccount(dataDir, 'old@example.com')
  addPayload(dataDir, payloadIds.one, 'one')
  await runErrand(['backup', backup, '--data', dataDir])
  await openAccount(dataDir, 'new@example.com')
  const target = join(folder, 'target')
  const reasons = async (file: string, ...more: string[]) =>
    (await refusalOf(['restore', file, '--data', target, ...more])).replace(/^errand: /, '').trim()

  expect(await reasons(join(folder, 'none'))).toBe(
    `${folder}/none does not exist or is not a file. Choose a file created by errand backup.`,
  )
  const text = join(folder, 'text.db')
  writeFileSync(text, 'not a database '.repeat(1000))
  expect(await reasons(text)).toBe(`${text} is damaged (file is not a database). Restore another backup.`)
  const other = join(folder, 'other.db')
  new Database(other).exec('CREATE TABLE other (id)').close()
  expect(await reasons(other)).toBe(`${other} is not a backup. Create one with errand backup.`)
  const newer = changed('newer.db', `INSERT INTO __drizzle_migrations (hash, created_at) VALUES ('newer', 9e12)`)
  expect(await reasons(newer)).toBe('The database was written by a newer version of Errand. Run that version.')
  const wrong = changed('wrong.db', 'UPDATE accounts SET balance = balance + 1')
  expect(await reasons(wrong)).toMatch(/^The ledger in .*wrong\.db is not consistent: the check ".*Restore another/)
  const cut = join(folder, 'cut.db')
  writeFileSync(cut, readFileSync(backup).subarray(0, 100_000))
  expect(await reasons(cut)).toMatch(/^.*cut\.db is damaged \(.*\)\. Restore another backup\.$/)
  const live = join(folder, 'live.db')
  cpSync(backup, live)
  writeFileSync(`${live}-wal`, 'x')
  expect(await reasons(live)).toMatch(/is a database in use, not a backup/)

  writeFileSync(payloadFile(`${backup}.payloads`, payloadIds.one), 'two')
  expect(await reasons(backup)).toMatch(/^1 payloads are missing or damaged in .*: pay_.*--without-damaged\.$/)
  expect(readdirSync(target)).toEqual(['server.json', 'server.lock'])
  expect(await restoreJson(backup, target, '--without-damaged')).toMatchObject({ missingPayloads: [payloadIds.one] })
  expect(usersIn(target)).toEqual(['old@example.com'])

  expect(await refusalOf(['restore', backup, '--data', dataDir])).toMatch(/already has a database\. Add --replace/)
  expect(await refusalOf(['restore', backup], { ERRAND_DATABASE_URL: 'postgres://x@127.0.0.1/x' })).toMatch(
    /supports only SQLite\. For PostgreSQL, run pg_restore into an empty database, then errand ledger verify\.$/m,
  )
  expect(usersIn(dataDir)).toEqual(['new@example.com', 'old@example.com'])
  rmSync(payloadFile(`${backup}.payloads`, payloadIds.one))
  cpSync(payloadFile(join(dataDir, 'payloads'), payloadIds.one), payloadFile(`${backup}.payloads`, payloadIds.one))
  const { previous } = await restoreJson(backup, dataDir, '--replace')
  expect(usersIn(dataDir)).toEqual(['old@example.com'])
  expect(usersIn(previous)).toEqual(['new@example.com', 'old@example.com'])
  expect(existsSync(payloadFile(join(previous, 'payloads'), payloadIds.one))).toBe(true)

  function changed(name: string, sql: string): string {
    const file = join(folder, name)
    cpSync(backup, file)
    const db = new Database(file)
    for (const trigger of db.prepare(`SELECT name FROM sqlite_schema WHERE type = 'trigger'`).pluck().all())
      db.exec(`DROP TRIGGER ${String(trigger)}`)
    db.exec(sql)
    db.close()
    return file
  }
})

const main = fileURLToPath(new URL('../../../../server/main.ts', import.meta.url))
const dieAt = fileURLToPath(new URL('../../die-at-file-call.ts', import.meta.url))
const killsMax = 100

test('a restore that is killed at any change of a file leaves the old or the new data, whole', async () => {
  const folder = temporaryFolder('restore')
  const backup = join(folder, 'backup.db')
  const source = join(folder, 'source')
  await openAccount(source, 'new@example.com')
  addPayload(source, payloadIds.new, 'new')
  await runErrand(['backup', backup, '--data', source])
  const template = join(folder, 'template')
  const options = { clock: () => new FakeClock(), limits: noLimits, onFatal: throwCause }
  const old = openSqliteStore({ ...options, dataDir: template })
  await old.createUser({ email: 'old@example.com', passwordHash: null, isAdmin: false })
  addPayload(template, payloadIds.old, 'old')
  const dataDir = join(folder, 'data')
  const seen: string[] = []
  for (let calls = 1; calls <= killsMax; calls++) {
    rmSync(dataDir, { recursive: true, force: true })
    // The WAL file of the open store contains everything so far.
    cpSync(template, dataDir, { recursive: true })
    expect(statSync(`${databaseFile(dataDir)}-wal`).size).toBeGreaterThan(0)
    const args = ['--import', dieAt, main, 'restore', backup, '--data', dataDir, '--replace']
    const { signal, stderr } = spawnSync(process.execPath, args, {
      env: { ...process.env, DIE_AT_FILE_CALL: String(calls) },
      encoding: 'utf8',
    })
    expect(stderr).toBe('')
    lockDataDir(dataDir).release()
    const [email, ...others] = usersIn(dataDir)
    expect(others).toEqual([])
    const name = email === 'new@example.com' ? 'new' : 'old'
    expect(email).toBe(`${name}@example.com`)
    expect(readFileSync(payloadFile(join(dataDir, 'payloads'), payloadIds[name]), 'utf8')).toBe(name)
    const kept = readdirSync(dataDir).filter((entry) => entry.startsWith('before-restore'))
    expect(kept.map((entry) => usersIn(join(dataDir, entry)))).toEqual(name === 'new' ? [['old@example.com']] : [])
    const left = readdirSync(dataDir).filter((entry) => entry.startsWith('restore.'))
    expect(left.filter((entry) => entry !== 'restore.partial').map((entry) => basename(entry))).toEqual([])
    const again = openSqliteStore({ ...options, dataDir })
    expect((await again.verifyLedger()).ok).toBe(true)
    await again.close()
    seen.push(name)
    if (signal === null) break
  }
  await old.close()
  // Killed both before and after the rename that commits the restore, and not killed at last.
  expect(seen.length).toBeGreaterThan(10)
  expect(seen.length).toBeLessThan(killsMax)
  expect(seen.indexOf('new')).toBeGreaterThan(3)
  expect(seen.lastIndexOf('old')).toBe(seen.indexOf('new') - 1)
  expect(seen.filter((name) => name === 'new').length).toBeGreaterThan(5)
})
