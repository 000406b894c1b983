import { parentPort, workerData } from 'node:worker_threads'
import Database from 'better-sqlite3'
import { must } from '../../kernel/assert.ts'
import { verifyLedger } from './verify-ledger.ts'

const { file } = workerData as { file: string }
const db = new Database(file, { readonly: true, timeout: 5000 })
const report = verifyLedger(db)
db.close()
must(parentPort, 'this runs as a thread').postMessage(report)
