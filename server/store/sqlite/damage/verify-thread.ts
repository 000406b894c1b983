import { parentPort, workerData } from 'node:worker_threads'
import Database from 'better-sqlite3'
import { must } from '../../../kernel/assert.ts'
import { findDamageByTable } from './find-damage.ts'
import type { Verified, VerifyThreadData } from './ledger-check.ts'
import { verifyLedger } from './verify-ledger.ts'

const { file, stop } = workerData as VerifyThreadData
const flag = new Int32Array(stop)
const longMs = 500
const pauseMs = 100
let statementFrom = performance.now()
/**
 * Called before each statement. After a long statement, pauses to let the server checkpoint the log, which grows while
 * a statement reads.
 */
const isStopped = () => {
  if (performance.now() - statementFrom > longMs) Atomics.wait(flag, 0, 0, pauseMs)
  statementFrom = performance.now()
  return Atomics.load(flag, 0) !== 0
}

if (!isStopped()) {
  const db = new Database(file, { readonly: true, timeout: 5000 })
  try {
    const damage = findDamageByTable(db, isStopped)
    const verified: Verified = damage === undefined ? { report: verifyLedger(db, isStopped) } : { damage }
    if (!isStopped()) must(parentPort, 'this file runs in a worker thread').postMessage(verified)
  } finally {
    db.close()
  }
}
