import { chmodSync, readdirSync, statSync, type Stats } from 'node:fs'
import { dirname, join } from 'node:path'

// Restricts a data directory to its owner, because it contains all users' balances and messages. An existing folder or a
// restored backup may be readable by other users of the machine.

const names = [
  'errand.db',
  'errand.db-wal',
  'errand.db-shm',
  'server.lock',
  'server.json',
  'migrate.lock',
  'secret',
  'demo.json',
] as const
const payloads = 'payloads'

/** Removes other users' access. `left` lists the paths that this process is not allowed to change. */
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
  // There may be a million payloads, so check files only in folders that other users can open. A private folder
  // protects its files.
  for (const folder of namesIn(root)) {
    const path = join(root, folder)
    if (!statOf(path)?.isDirectory() || close(path) === undefined) continue
    for (const file of namesIn(path)) close(join(path, file))
  }
  return found
}

/** Whether the folder contains only our files. Other files, such as a project's, may be meant for other users. */
function isOnlyOurs(dataDir: string): boolean {
  const ours = [...names, payloads, /^(?:\.?errand\.db|server\.lock|migrate\.lock|restore|before-restore)[.-]/]
  return namesIn(dataDir).every((name) => ours.some((own) => (typeof own === 'string' ? own === name : own.test(name))))
}

export function describeClosed({ closed, left }: { closed: string[]; left: string[] }): string | undefined {
  const told = [
    closed.length > 0 && `other users of this machine could read ${listed(closed)}; restricted the permissions`,
    left.length > 0 &&
      `other users of this machine can read ${listed(left)}. Change the permissions, because this process cannot`,
  ]
  return told.filter(Boolean).join('; ') || undefined
}

function listed([first = '', ...more]: string[]): string {
  return more.length === 0 ? first : `${first} and ${more.length} more`
}

function closeToOthers(path: string): 'closed' | 'left' | undefined {
  // On platforms without user ids, file modes do not determine who can read a file.
  const self = process.getuid?.()
  const found = statOf(path)
  if (self === undefined || !found || (found.mode & 0o077) === 0) return undefined
  // Do not restrict the root folder or a folder that all users share, such as /tmp.
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
