import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { ofTier } from '../run/tiers.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { killAtEach } from './payment-kills.ts'
import { newFolder, openIn } from './sqlite-engine.ts'
import { noLimits, StoreWorld } from './store-world.ts'

type Prepare = (this: Database.Database, sql: string) => Database.Statement

test('SQLite: stores payment events atomically and once, whichever statement fails', async () => {
  let left = 0
  let hasStruck = false
  const original = Object.getOwnPropertyDescriptor(Database.prototype, 'prepare')!
  const prepare = original.value as Prepare
  const counted: Prepare = function (sql) {
    const statement = prepare.call(this, sql)
    for (const name of ['run', 'get', 'all'] as const) {
      const call = statement[name]
      Object.assign(statement, {
        [name]: (...values: unknown[]) => {
          if (this.inTransaction && left > 0 && --left === 0) {
            hasStruck = true
            throw new Database.SqliteError('disk I/O error', 'SQLITE_IOERR')
          }
          const result: unknown = Reflect.apply(call, statement, values)
          return result
        },
      })
    }
    return statement
  }
  Object.defineProperty(Database.prototype, 'prepare', { ...original, value: counted })
  const clock = new FakeClock()
  const opened = openIn(newFolder(), { clock: () => clock, limits: noLimits })
  Object.defineProperty(Database.prototype, 'prepare', original)
  const world = new StoreWorld({ clock, opened, notBefore: () => 0 })
  const strikeAt = (n: number) => {
    hasStruck = false
    left = n
  }
  const statements = await killAtEach(world, { strikeAt, hasStruck: () => hasStruck, stride: ofTier(8, 1) })
  left = 0
  expect(statements).toBeGreaterThan(80)
  await world.close()
}, 120_000)
