import { parentPort, workerData } from 'node:worker_threads'
import Database from 'better-sqlite3'
import { must } from '../../kernel/assert.ts'
import type { VerifyThreadData } from './ledger-check.ts'
import { verifyLedger } from './verify-ledger.ts'

const { file, stop } = workerData as VerifyThreadData
const flag = new Int32Array(stop)
const isStopped = () => Atomics.load(flag, 0) !== 0

if (!isStopped()) {
  const db = new Database(file, { readonly: true, timeout: 5000 })
  const report = verifyLedger(db, isStopped)
  db.close()
  if (!isStopped()) must(parentPort, 'this runs as a thread').postMessage(report)
}
