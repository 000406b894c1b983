import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import Database from 'better-sqlite3'
import { databaseFile } from '../../server/store/sqlite/database.ts'

const migrations = fileURLToPath(new URL('../../server/store/sqlite/migrations/', import.meta.url))
const { entries } = JSON.parse(readFileSync(join(migrations, 'meta/_journal.json'), 'utf8')) as {
  entries: { tag: string; when: number }[]
}

export const migrationCount = entries.length

/** A database with only the first migrations, as an older version left it. */
export function createOlder(dataDir: string, count: number, fill: (raw: Database.Database) => void): void {
  const raw = new Database(databaseFile(dataDir))
  raw.pragma('journal_mode = WAL')
  raw.exec('CREATE TABLE "__drizzle_migrations" (id SERIAL PRIMARY KEY, hash text NOT NULL, created_at numeric)')
  for (const { tag, when } of entries.slice(0, count)) {
    const text = readFileSync(join(migrations, `${tag}.sql`), 'utf8')
    for (const statement of text.split('--> statement-breakpoint')) raw.exec(statement)
    const hash = createHash('sha256').update(text).digest('hex')
    raw.prepare('INSERT INTO __drizzle_migrations (hash, created_at) VALUES (?, ?)').run(hash, when)
  }
  fill(raw)
  raw.close()
}
