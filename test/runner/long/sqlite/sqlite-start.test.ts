import { readFileSync, writeFileSync } from 'node:fs'
import { afterEach, expect, test, vi } from 'vitest'
import { resolveSecrets } from '../../../../server/app/config.ts'
import { openServiceStore } from '../../../../server/app/open-service-store.ts'
import { databaseFile } from '../../../../server/store/sqlite/database.ts'
import { openSqliteStore } from '../../../../server/store/sqlite/sqlite-store.ts'
import { withRaw } from '../../../store/sqlite-engine.ts'
import { noLimits } from '../../../store/store-world.ts'
import { examine, findingOf, makeDatabase } from '../../../support/examine.ts'
import { FakeClock } from '../../../support/fake-clock.ts'

afterEach(() => void vi.useRealTimers())

test('the doctor reports database damage with the same message as a failing start', async () => {
  const dataDir = await makeDatabase()
  const whole = await examine(dataDir)
  expect([findingOf(whole.report, 'database'), findingOf(whole.report, 'ledger')]).toMatchObject([
    { status: 'ok' },
    { status: 'ok' },
  ])

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
  const found = findingOf(report, 'database')!
  expect(found).toMatchObject({ status: 'problem', message: expect.stringContaining('Restore a backup') })
  const clock = new FakeClock()
  expect(() => openSqliteStore({ dataDir, clock: () => clock, limits: noLimits, onFatal: () => {} })).toThrow(
    found.message,
  )
  expect(readFileSync(file)).toEqual(bytes)
})

test('logs at the start if the clock is behind the database', async () => {
  const dataDir = await makeDatabase()
  const lines: [object, string][] = []
  const warn = (fields: object, message: string) => void lines.push([fields, message])
  const log = { debug() {}, info() {}, warn, error() {} }
  const secrets = () => resolveSecrets(dataDir)
  const open = async () => {
    const { store } = await openServiceStore({ dataDir, limits: noLimits, log, secrets, onFatal: () => {} }, () => {})
    await store.close()
  }
  await open()
  expect(lines).toEqual([])
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 3_600_000 })
  await open()
  expect(lines).toEqual([
    [expect.objectContaining({ behindSeconds: expect.any(Number) }), expect.stringContaining('clock')],
  ])
})
