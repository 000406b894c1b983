import { createRequire } from 'node:module'

// Drizzle, loaded as CommonJS for the reason that store/sqlite/drizzle.ts gives.
const require = createRequire(import.meta.url)

export const { and, asc, desc, eq, getTableColumns, getTableName, gt, inArray, isNotNull, isNull, lt, lte, or, sql } =
  require('drizzle-orm') as typeof import('drizzle-orm')
export const {
  bigint,
  check,
  customType,
  foreignKey,
  index,
  integer,
  pgTable,
  primaryKey,
  text,
  unionAll,
  uniqueIndex,
} = require('drizzle-orm/pg-core') as typeof import('drizzle-orm/pg-core')
export const { drizzle } = require('drizzle-orm/node-postgres') as typeof import('drizzle-orm/node-postgres')
export const { migrate } =
  require('drizzle-orm/node-postgres/migrator') as typeof import('drizzle-orm/node-postgres/migrator')
export const { readMigrationFiles } = require('drizzle-orm/migrator') as typeof import('drizzle-orm/migrator')
