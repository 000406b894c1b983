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

if (!isClosing()) {
  const [db, log] = [new Database(file, { readonly: true, timeout: 5000 }), new Database(file, { fileMustExist: true })]
  // Each index of users has a page per user that the check reads again and again. The default cache of 16 MB holds too few.
  db.pragma('cache_size = -64000')
  let statementFrom = performance.now()
  /**
   * Called before each statement. The log grows while a statement reads, and searching a long log slows down all reads.
   * Therefore empties the log after a long statement, so that the server's next commit does not have to.
   */
  const isStopped = () => {
    if (performance.now() - statementFrom > longMs) log.pragma('wal_checkpoint')
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
