import { parentPort, workerData } from 'node:worker_threads'
import Database from 'better-sqlite3'
import { must } from '../../../kernel/assert.ts'
import { findDamageByTable } from './find-damage.ts'
import type { Verified, VerifyThreadData } from './ledger-check.ts'
import { verifyLedger } from './verify-ledger.ts'

const { file, stop } = workerData as VerifyThreadData
const flag = new Int32Array(stop)
const isClosing = () => Atomics.load(flag, 0) !== 0
const longMs = 500
/** Maximum wait for other readers of the log, during which no writer can commit. */
const lockMs = 50

if (!isClosing()) {
  const [db, log] = [
    new Database(file, { readonly: true, timeout: 5000 }),
    new Database(file, { fileMustExist: true, timeout: lockMs }),
  ]
  // Comparing a table with its indexes reads the same page for each user and index again and again. The default cache of
  // 16 MB is too small for a thousand users.
  db.pragma('cache_size = -64000')
  let statementFrom = performance.now()
  /**
   * Called before each statement. The log grows while a statement reads, and a long log slows down all reads. After a
   * long statement, this thread therefore copies the log into the database, so that the server's next commit does not
   * have to. RESTART then empties the log. It locks out writers, so PASSIVE first copies almost everything.
   */
  const isStopped = () => {
    if (performance.now() - statementFrom > longMs) {
      log.pragma('wal_checkpoint(PASSIVE)')
      log.pragma('wal_checkpoint(RESTART)')
    }
    statementFrom = performance.now()
    return isClosing()
  }
  try {
    const damage = findDamageByTable(db, isStopped)
    const verified: Verified = damage === undefined ? { report: verifyLedger(db, isStopped) } : { damage }
    if (!isClosing()) must(parentPort, 'this file runs in a worker thread').postMessage(verified)
  } finally {
    db.close()
    log.close()
  }
}
