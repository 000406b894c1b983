import { must } from '../../kernel/assert.ts'
import type { PgListener } from './connection/driver.ts'

type Queries = Pick<PgListener, 'query'>

export async function readSetting(on: Queries, name: string): Promise<string | undefined> {
  const { rows } = await on.query('SELECT value FROM settings WHERE name = $1', [name])
  return (rows[0] as { value: string } | undefined)?.value
}

export async function agreeSetting(on: Queries, name: string, value: string): Promise<string> {
  await on.query('INSERT INTO settings (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING', [name, value])
  return must(await readSetting(on, name), 'a stored setting exists')
}

export async function replaceSetting(on: Queries, name: string, value: string): Promise<void> {
  const upsert = 'INSERT INTO settings (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = $2'
  await on.query(upsert, [name, value])
}
