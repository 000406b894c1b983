import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { databaseFile } from '../../server/store/sqlite/database.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { created, describeConnectors } from './connector-contract.ts'
import { describeGrants } from './contract-grants.ts'
import { newFolder, openIn, sqliteEngine } from './sqlite-engine.ts'
import type { ContractTest } from './store-contract.ts'
import { noLimits, openWorld, StoreWorld } from './store-world.ts'

const contractTest: ContractTest = (title, body, { limits = {} } = {}) => {
  test(`${sqliteEngine.name}: ${title}`, async () => {
    const world = await openWorld(sqliteEngine, { ...noLimits, ...limits })
    try {
      await body(world)
    } finally {
      await world.close()
    }
  })
}

describeConnectors(contractTest)
describeGrants(contractTest)

test('the database rejects connectors with invalid targets, mismatched secrets or an unknown user', async () => {
  const dataDir = newFolder()
  const clock = new FakeClock()
  const opened = openIn(dataDir, { clock: () => clock, limits: noLimits })
  const world = new StoreWorld({ clock, opened, notBefore: () => 0 })
  const raw = new Database(databaseFile(dataDir))
  raw.pragma('foreign_keys = ON')
  const userId = await world.createUser()
  const { id } = await created(world, userId)
  await created(world, userId, { name: 'other' })
  const set = (change: string) => () => raw.exec(`UPDATE connectors SET ${change} WHERE id = '${id}'`)
  expect(set('url = NULL')).toThrow('one_target')
  expect(set("server = 'files'")).toThrow('one_target')
  expect(set('sealed = NULL')).toThrow('secrets_with_auth')
  expect(set("auth_type = 'none'")).toThrow('secrets_with_auth')
  expect(set("name = 'other'")).toThrow('UNIQUE constraint failed: connectors.user_id, connectors.name')
  expect(set("user_id = 'user_unknown'")).toThrow('FOREIGN KEY')
  expect(set('created_at = 0.5')).toThrow('cannot store REAL value')
  expect(set("updated_at = 'now'")).toThrow('cannot store TEXT value')
  expect(set('status = NULL')).toThrow('NOT NULL')
  set("url = NULL, server = 'files', auth_type = 'none', sealed = NULL")()
  raw.close()
  await world.close()
})
