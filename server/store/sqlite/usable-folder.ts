import { accessSync, constants, statSync } from 'node:fs'
import { join } from 'node:path'
import { codeOf } from '../../kernel/thrown.ts'
import { StoreOpenError } from '../store-open-error.ts'

const names = ['', 'errand.db', 'errand.db-wal', 'errand.db-shm', 'server.lock', 'migrate.lock', 'secret']

/** Checks access in advance, because SQLite's permission errors do not name their cause. */
export function assertUsable(dataDir: string): void {
  for (const name of names) {
    const path = join(dataDir, name)
    try {
      accessSync(path, constants.R_OK | constants.W_OK)
    } catch (error) {
      const code = codeOf(error)
      if (code !== 'ENOENT') throw new StoreOpenError(describe(path, code))
    }
  }
}

function describe(path: string, code: string): string {
  const another = 'or choose another folder with --data or ERRAND_DATA_DIR'
  if (code === 'EROFS') return `${path} is on a read-only file system. Mount it writable, ${another}.`
  const uid = process.getuid?.()
  const owner = statSync(path, { throwIfNoEntry: false })?.uid
  const whose = uid !== undefined && owner !== undefined && owner !== uid
  const why = whose
    ? `it belongs to the user ${owner}, but this process runs as the user ${uid}`
    : 'its permissions do not allow that'
  return `Cannot read and write ${path}, because ${why}. Fix the whole data directory (chown -R, chmod -R u+rwX), ${another}.`
}
