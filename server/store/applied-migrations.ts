import { createRequire } from 'node:module'
import { StoreOpenError } from './store-open-error.ts'

// Drizzle makes the migrations and applies them, and runs nothing else. What serves loads it as CommonJS, and its
// migrator only for a database that is not up to date: its package.json is 180 KB, which Node's loader of ES modules reads
// and parses again for each of the hundred files, 460 ms and 190 MB of garbage at every start.
const require = createRequire(import.meta.url)
const { readMigrationFiles } = require('drizzle-orm/migrator') as typeof import('drizzle-orm/migrator')

export type SchemaState = 'empty' | 'older' | 'current'

/** Of a database with these migrations, by their hashes in order; throws when it was written by a newer version. */
export function schemaStateOf(applied: readonly unknown[], migrationsFolder: string): SchemaState {
  const known = readMigrationFiles({ migrationsFolder })
  if (applied.length > known.length || applied.some((hash, index) => hash !== known[index]!.hash)) {
    throw new StoreOpenError('The database was written by another, newer version of Errand. Run that version.')
  }
  return applied.length === 0 ? 'empty' : applied.length < known.length ? 'older' : 'current'
}
