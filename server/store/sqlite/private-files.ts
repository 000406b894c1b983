import { chmodSync, readdirSync, statSync, type Stats } from 'node:fs'
import { dirname, join } from 'node:path'

// What a data directory holds is everybody's money and words: its owner reads it and nobody else. A folder that was there
// before, or a backup that was put back with a copying tool, may be open to others.

const names = [
  'errand.db',
  'errand.db-wal',
  'errand.db-shm',
  'server.lock',
  'migrate.lock',
  'secret',
  'demo.json',
  'moved.json',
] as const
const payloads = 'payloads'

/** Closes to others what they could read; `left` is what this process may not change. */
export function keepPrivate(dataDir: string): { closed: string[]; left: string[] } {
  const found: { closed: string[]; left: string[] } = { closed: [], left: [] }
  const close = (path: string) => {
    const outcome = closeToOthers(path)
    if (outcome) found[outcome].push(path)
    return outcome
  }
  if (isOnlyOurs(dataDir)) close(dataDir)
  for (const name of names) close(join(dataDir, name))
  const root = join(dataDir, payloads)
  close(root)
  // A million payloads are not looked at one by one: only those in folders that were open. The rest is behind its folder.
  for (const folder of namesIn(root)) {
    const path = join(root, folder)
    if (!statOf(path)?.isDirectory() || close(path) === undefined) continue
    for (const file of namesIn(path)) close(join(path, file))
  }
  return found
}

/** Whether nothing else stands in it, which might be meant for others: a project's folder, say. */
function isOnlyOurs(dataDir: string): boolean {
  // SQLite puts files of its own beside a database.
  const ours = [...names, payloads, /^(?:errand\.db|server\.lock|migrate\.lock)[.-]/]
  return namesIn(dataDir).every((name) => ours.some((own) => (typeof own === 'string' ? own === name : own.test(name))))
}

/** One line for the log; undefined when there is nothing to tell. */
export function describeClosed({ closed, left }: { closed: string[]; left: string[] }): string | undefined {
  const told = [
    closed.length > 0 && `other users of this machine could read ${listed(closed)}: closed to them`,
    left.length > 0 && `other users of this machine can read ${listed(left)}, which this process may not change`,
  ]
  return told.filter(Boolean).join('; ') || undefined
}

function listed([first = '', ...more]: string[]): string {
  return more.length === 0 ? first : `${first} and ${more.length} more`
}

function closeToOthers(path: string): 'closed' | 'left' | undefined {
  // Elsewhere modes say nothing of who may read.
  const self = process.getuid?.()
  const found = statOf(path)
  if (self === undefined || !found || (found.mode & 0o077) === 0) return undefined
  // A folder that all share, such as /tmp, or the root of the disk, is not this service's to close.
  const isShared = found.isDirectory() && ((found.mode & 0o1000) !== 0 || dirname(path) === path)
  if (isShared || found.uid !== self) return 'left'
  try {
    chmodSync(path, found.mode & 0o700)
    return 'closed'
  } catch {
    return 'left'
  }
}

function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
