import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { must } from '../kernel/assert.ts'
import { StoreOpenError } from './store-open-error.ts'

// Drizzle is loaded as CommonJS. Loading it as ES modules added 460 ms and 190 MB of garbage to every start, because
// Node parses Drizzle's package.json (180 KB) again for each of its hundred modules. The server loads Drizzle's
// migrator only for an outdated database.
const require = createRequire(import.meta.url)
const { readMigrationFiles } = require('drizzle-orm/migrator') as typeof import('drizzle-orm/migrator')

export type SchemaState = 'empty' | 'older' | 'current'

/**
 * Compares the hashes of a database's applied migrations, in order, with this version's migrations. Throws if a newer
 * version of Errand wrote the database.
 */
export function schemaStateOf(applied: readonly unknown[], migrationsFolder: string): SchemaState {
  const known = readMigrationFiles({ migrationsFolder })
  if (applied.length > known.length || applied.some((hash, index) => hash !== known[index]!.hash)) {
    throw new StoreOpenError('The database was written by a newer version of Errand. Run that version.')
  }
  return applied.length === 0 ? 'empty' : applied.length < known.length ? 'older' : 'current'
}

/** Returns the name of the newest migration without its number, because the engines number migrations differently. */
export function lastMigration(migrationsFolder: string): string {
  const journal = readFileSync(join(migrationsFolder, 'meta', '_journal.json'), 'utf8')
  const { entries } = JSON.parse(journal) as { entries: { tag: string }[] }
  return must(entries.at(-1), 'there is at least one migration').tag.replace(/^\d+_/, '')
}
