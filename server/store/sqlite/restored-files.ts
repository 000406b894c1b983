import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'

// A restore prepares the complete database and its payloads in `restore.partial`, and commits by renaming that folder
// to `restore.ready`. After a crash, the next process that locks the data directory moves the remaining files.

const readyName = 'restore.ready'

/** The files in `aside` are moved out before `name` is moved in. The database comes last. */
const replaced = [
  { name: 'payloads', aside: ['payloads'] },
  // Move the WAL file out with the old database, which would be incomplete without it. SQLite would apply a leftover
  // WAL file to the new database.
  { name: 'errand.db', aside: ['errand.db-wal', 'errand.db-shm', 'errand.db.damaged', 'errand.db'] },
]

export function isRestoring(dataDir: string): boolean {
  return existsSync(join(dataDir, readyName))
}

/** Creates an empty folder for the restored files, and deletes the remains of a killed restore. */
export function newRestoreFolder(dataDir: string): string {
  const folder = join(dataDir, 'restore.partial')
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { mode: 0o700 })
  return folder
}

export function commitRestore(dataDir: string, folder: string): void {
  syncFolder(folder)
  renameSync(folder, join(dataDir, readyName))
  syncFolder(dataDir)
}

/**
 * Completes a committed restore. Returns the subfolder of the old database, if there was one. The caller must have
 * locked the data directory. Each step can be repeated, because a file is moved in only while it is still in the
 * folder.
 */
export function finishRestore(dataDir: string): string | undefined {
  if (!isRestoring(dataDir)) return undefined
  const ready = join(dataDir, readyName)
  const old = join(ready, 'old')
  mkdirSync(old, { recursive: true, mode: 0o700 })
  for (const { aside, name } of replaced) {
    if (!existsSync(join(ready, name))) continue
    for (const file of aside) if (existsSync(join(dataDir, file))) renameSync(join(dataDir, file), join(old, file))
    syncFolder(old)
    renameSync(join(ready, name), join(dataDir, name))
    syncFolder(dataDir)
  }
  let kept: string | undefined
  if (readdirSync(old).length > 0) {
    kept = join(dataDir, `before-restore-${new Date().toISOString().replaceAll(/[:.]/g, '-')}`)
    renameSync(old, kept)
    syncFolder(dataDir)
  }
  rmSync(ready, { recursive: true })
  return kept
}

function syncFolder(path: string): void {
  const handle = openSync(path, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}
