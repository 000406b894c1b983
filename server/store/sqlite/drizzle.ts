import { createRequire } from 'node:module'

// Drizzle, loaded as CommonJS. Its package.json is 180 KB, which Node's loader of ES modules reads and parses again for
// each of the hundred files: 460 ms and 190 MB of garbage at every start, against 80 ms and 22 MB this way.
const require = createRequire(import.meta.url)

export const { and, asc, desc, eq, gt, inArray, isNotNull, isNull, lt, lte, ne, or, sql } =
  require('drizzle-orm') as typeof import('drizzle-orm')
export const { check, index, integer, primaryKey, sqliteTable, text, unionAll, uniqueIndex } =
  require('drizzle-orm/sqlite-core') as typeof import('drizzle-orm/sqlite-core')
export const { drizzle } = require('drizzle-orm/better-sqlite3') as typeof import('drizzle-orm/better-sqlite3')
export const { migrate } =
  require('drizzle-orm/better-sqlite3/migrator') as typeof import('drizzle-orm/better-sqlite3/migrator')
export const { readMigrationFiles } = require('drizzle-orm/migrator') as typeof import('drizzle-orm/migrator')

export type { BetterSQLite3Database } from 'drizzle-orm/better-sqlite3'
