import fs from 'node:fs'
import { fileURLToPath } from 'node:url'

// Adds one more migration to the server code, so that a database of the current version is outdated. In a server
// process, preload it with `nextVersionEnv`.

const tag = 'next_version'
const migration =
  'CREATE TABLE next_version (id text);--> statement-breakpoint\nINSERT INTO next_version SELECT id FROM users;'
let isNext = 'NEXT_VERSION' in process.env

const { readFileSync } = fs
fs.readFileSync = ((path: string, ...options: []) => {
  if (!isNext) return readFileSync(path, ...options)
  if (String(path).endsWith(`/${tag}.sql`)) return Buffer.from(migration)
  const content = readFileSync(path, ...options)
  if (!String(path).endsWith('/migrations/meta/_journal.json')) return content
  const journal = JSON.parse(content.toString()) as { entries: { idx: number }[] }
  const next = { idx: journal.entries.length, version: '7', when: 9e12, tag, breakpoints: true }
  return Buffer.from(JSON.stringify({ ...journal, entries: [...journal.entries, next] }))
}) as typeof readFileSync

/** Environment of a server process of the next version. */
export const nextVersionEnv = { NEXT_VERSION: 'yes', NODE_OPTIONS: `--import=${fileURLToPath(import.meta.url)}` }

/** Runs `work` as the next version in this process. */
export async function asNextVersion<Result>(work: () => Result | Promise<Result>): Promise<Result> {
  isNext = true
  try {
    return await work()
  } finally {
    isNext = false
  }
}
