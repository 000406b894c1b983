import type { Database } from 'better-sqlite3'
import { must } from '../../kernel/assert.ts'
import type { SharedSettings } from '../shared.ts'

/** Writes immediately instead of in the group commit, because only CLI commands and starting servers use settings. */
export function settingRows(db: Database): SharedSettings {
  const read = db.prepare<[string], string>('SELECT value FROM settings WHERE name = ?').pluck()
  const keep = db.prepare('INSERT INTO settings (name, value) VALUES (?, ?) ON CONFLICT DO NOTHING')
  const upsert =
    'INSERT INTO settings (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value'
  const replace = db.prepare(upsert)
  return {
    agree: async (name, value) => {
      keep.run(name, value)
      return must(read.get(name), 'a stored setting exists')
    },
    replace: async (name, value) => void replace.run(name, value),
  }
}
