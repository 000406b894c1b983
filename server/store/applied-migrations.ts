import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { must } from '../kernel/assert.ts'
import { StoreOpenError } from './store-open-error.ts'

// Drizzle generates and applies the migrations and runs nothing else. The server loads it as CommonJS, and loads its
// migrator only for an outdated database. Its package.json is 180 KB, and Node's ES module loader reads and parses that
// again for each of the hundred files: 460 ms and 190 MB of garbage at every start.
const require = createRequire(import.meta.url)
const { readMigrationFiles } = require('drizzle-orm/migrator') as typeof import('drizzle-orm/migrator')

export type SchemaState = 'empty' | 'older' | 'current'

/** Schema state of a database with these migration hashes, in order. Throws if a newer version wrote it. */
export function schemaStateOf(applied: readonly unknown[], migrationsFolder: string): SchemaState {
  const known = readMigrationFiles({ migrationsFolder })
  if (applied.length > known.length || applied.some((hash, index) => hash !== known[index]!.hash)) {
    throw new StoreOpenError('The database was written by a newer version of Errand. Run that version.')
  }
  return applied.length === 0 ? 'empty' : applied.length < known.length ? 'older' : 'current'
}

/** Name of the newest migration without its number, which differs between the engines. */
export function lastMigration(migrationsFolder: string): string {
  const journal = readFileSync(join(migrationsFolder, 'meta', '_journal.json'), 'utf8')
  const { entries } = JSON.parse(journal) as { entries: { tag: string }[] }
  return must(entries.at(-1), 'there is at least one migration').tag.replace(/^\d+_/, '')
}
