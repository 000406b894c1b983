import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { must } from '../kernel/assert.ts'
import { StoreOpenError } from './store-open-error.ts'

// Drizzle is loaded as CommonJS, because as ES modules it took 460 ms and 190 MB of garbage at every start: Node's
// loader parses Drizzle's package.json (180 KB) again for each of its hundred modules. It only generates and applies
// migrations, so the server loads its migrator only for an outdated database.
const require = createRequire(import.meta.url)
const { readMigrationFiles } = require('drizzle-orm/migrator') as typeof import('drizzle-orm/migrator')

export type SchemaState = 'empty' | 'older' | 'current'

/**
 * Compares a database's applied migrations, given as hashes in order, with the migrations of this version. Throws if
 * a newer version of Errand has written the database.
 */
export function schemaStateOf(applied: readonly unknown[], migrationsFolder: string): SchemaState {
  const known = readMigrationFiles({ migrationsFolder })
  if (applied.length > known.length || applied.some((hash, index) => hash !== known[index]!.hash)) {
    throw new StoreOpenError('The database was written by a newer version of Errand. Run that version.')
  }
  return applied.length === 0 ? 'empty' : applied.length < known.length ? 'older' : 'current'
}

/**
 * Returns the name of the newest migration without its numeric prefix, because the two engines number migrations
 * differently.
 */
export function lastMigration(migrationsFolder: string): string {
  const journal = readFileSync(join(migrationsFolder, 'meta', '_journal.json'), 'utf8')
  const { entries } = JSON.parse(journal) as { entries: { tag: string }[] }
  return must(entries.at(-1), 'there is at least one migration').tag.replace(/^\d+_/, '')
}
