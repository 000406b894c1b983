import { readFileSync, writeFileSync } from 'node:fs'
import { databaseFile, migrateSchema, openConnection } from '../../server/store/sqlite/database.ts'
import { temporaryFolder } from './resources.ts'

let template: Buffer | undefined

/** Writes an empty migrated database into the folder. Migrates once per test worker. */
export function writeMigrated(dataDir: string): void {
  template ??= migrate()
  writeFileSync(databaseFile(dataDir), template, { mode: 0o600 })
}

function migrate(): Buffer {
  const folder = temporaryFolder('template')
  const db = openConnection(folder, 0)
  migrateSchema(db, folder)
  db.close()
  return readFileSync(databaseFile(folder))
}
