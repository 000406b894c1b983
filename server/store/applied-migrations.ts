import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { must } from '../kernel/assert.ts'
import { StoreOpenError } from './store-open-error.ts'

// Drizzle only generates and applies migrations. The server loads it as CommonJS, and loads its migrator only for an
// outdated database. Drizzle's package.json is 180 KB. Node's ES module loader would read and parse that file again for
// each of Drizzle's hundred modules. That cost 460 ms and 190 MB of garbage at every start.
const require = createRequire(import.meta.url)
const { readMigrationFiles } = require('drizzle-orm/migrator') as typeof import('drizzle-orm/migrator')

export type SchemaState = 'empty' | 'older' | 'current'

/** Schema state of a database, from the hashes of its migrations in order. Throws if a newer version of Errand wrote it. */
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
