import { statSync } from 'node:fs'
import { StoreOpenError } from '../store-open-error.ts'
import { databaseFile, hasDatabase, lockDataDir, openConnection } from './database.ts'

/**
 * Returns space freed by deleted data to the file system. Throws if a server is running, because its writes would have
 * to wait.
 */
export function compactDatabase(dataDir: string): { bytesBefore: number; bytesAfter: number } {
  const file = databaseFile(dataDir)
  if (!hasDatabase(dataDir))
    throw new StoreOpenError(
      `${dataDir} does not have an Errand database. Choose another folder with --data or ERRAND_DATA_DIR.`,
    )
  const lock = lockDataDir(dataDir)
  try {
    const db = openConnection(dataDir, 5000)
    try {
      db.pragma('wal_checkpoint(TRUNCATE)')
      const bytesBefore = statSync(file).size
      // VACUUM first writes a copy of the data to temporary storage, which is in memory on other connections.
      db.pragma('temp_store = FILE')
      db.exec('VACUUM')
      db.pragma('wal_checkpoint(TRUNCATE)')
      return { bytesBefore, bytesAfter: statSync(file).size }
    } finally {
      db.close()
    }
  } finally {
    lock.release()
  }
}
