import { readFileSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { databaseFile } from '../../server/store/sqlite/database.ts'
import { openSqliteStore } from '../../server/store/sqlite/sqlite-store.ts'
import { noLimits } from '../store/store-world.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { withRaw } from '../store/sqlite-engine.ts'
import { runErrand } from '../support/test-process.ts'
import { newDataDir } from '../support/test-service.ts'

type Finding = { name: string; status: string; message: string }
type Report = { ok: boolean; checks: Finding[] }

async function examine(dataDir: string): Promise<{ code: number; report: Report }> {
  const args = ['doctor', '--data', dataDir, '--port', '0', '--json']
  return await runErrand(args).then(
    (stdout) => ({ code: 0, report: JSON.parse(stdout) as Report }),
    ({ code, stdout }: { code: number; stdout: string }) => ({ code, report: JSON.parse(stdout) as Report }),
  )
}

async function makeDatabase(): Promise<string> {
  const dataDir = newDataDir()
  const of = ['--email', 'ann@example.com', '--data', dataDir]
  await runErrand(['users', 'create', ...of])
  await runErrand(['credit', ...of, '--usd', '5'])
  return dataDir
}

const of = ({ checks }: Report, name: string) => checks.find((check) => check.name === name)

test('the doctor finds the damage for which a server does not start, with the same words', async () => {
  const dataDir = await makeDatabase()
  const whole = await examine(dataDir)
  expect([of(whole.report, 'database'), of(whole.report, 'ledger')]).toMatchObject([{ status: 'ok' }, { status: 'ok' }])

  const file = databaseFile(dataDir)
  const [root, pageBytes] = withRaw(dataDir, (raw) => {
    raw.pragma('wal_checkpoint(TRUNCATE)')
    const rootOf = raw.prepare<[string], number>('SELECT rootpage FROM sqlite_schema WHERE name = ?').pluck()
    return [rootOf.get('tasks_user')!, raw.pragma('page_size', { simple: true }) as number]
  })
  const bytes = readFileSync(file)
  bytes.fill(0xff, (root - 1) * pageBytes, (root - 1) * pageBytes + 12)
  writeFileSync(file, bytes)

  const { code, report } = await examine(dataDir)
  expect([code, report.ok]).toEqual([1, false])
  const found = of(report, 'database')!
  expect(found).toMatchObject({ status: 'problem', message: expect.stringContaining('Restore a backup') })
  const clock = new FakeClock()
  expect(() => openSqliteStore({ dataDir, clock: () => clock, limits: noLimits, onFatal: () => {} })).toThrow(
    found.message,
  )
  expect(readFileSync(file)).toEqual(bytes)
})

test('the doctor finds a ledger that does not add up', async () => {
  const dataDir = await makeDatabase()
  withRaw(dataDir, (raw) => raw.exec('UPDATE accounts SET balance = balance + 1'))
  const { code, report } = await examine(dataDir)
  expect([code, report.ok]).toEqual([1, false])
  expect(of(report, 'database')).toMatchObject({ status: 'ok' })
  expect(of(report, 'ledger')).toMatchObject({ status: 'problem', message: expect.stringContaining('does not add up') })
})
