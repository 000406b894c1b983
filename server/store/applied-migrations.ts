import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { must } from '../kernel/assert.ts'
import { StoreOpenError } from './store-open-error.ts'

// Drizzle only generates and applies migrations. The server loads it as CommonJS, and loads its migrator only for an
// outdated database. As ES modules, Drizzle took 460 ms and 190 MB of garbage at every start, because Node's loader
// reads and parses Drizzle's package.json (180 KB) again for each of its hundred modules.
const require = createRequire(import.meta.url)
const { readMigrationFiles } = require('drizzle-orm/migrator') as typeof import('drizzle-orm/migrator')

export type SchemaState = 'empty' | 'older' | 'current'

/**
 * Returns a database's schema state, given the hashes of its applied migrations in order. Throws if a newer version of
 * Errand wrote the database.
 */
export function schemaStateOf(applied: readonly unknown[], migrationsFolder: string): SchemaState {
  const known = readMigrationFiles({ migrationsFolder })
  if (applied.length > known.length || applied.some((hash, index) => hash !== known[index]!.hash)) {
    throw new StoreOpenError('The database was written by a newer version of Errand. Run that version.')
  }
  return applied.length === 0 ? 'empty' : applied.length < known.length ? 'older' : 'current'
}

/** Returns the name of the newest migration without its number prefix, which differs between the engines. */
export function lastMigration(migrationsFolder: string): string {
  const journal = readFileSync(join(migrationsFolder, 'meta', '_journal.json'), 'utf8')
  const { entries } = JSON.parse(journal) as { entries: { tag: string }[] }
  return must(entries.at(-1), 'there is at least one migration').tag.replace(/^\d+_/, '')
}
