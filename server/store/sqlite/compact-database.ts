import { statSync } from 'node:fs'
import { StoreOpenError } from '../store-open-error.ts'
import { databaseFile, hasDatabase, lockDataDir, openConnection } from './database.ts'

/**
 * Shrinks the database file by the space that deleted data occupied. Throws if a server is running, because its writes
 * would have to wait.
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
      // VACUUM first copies the data to temporary storage, which other connections keep in memory.
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
