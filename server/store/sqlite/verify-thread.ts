import { parentPort, workerData } from 'node:worker_threads'
import { must } from '../../kernel/assert.ts'
import { openConnection } from './database.ts'
import { verifyLedger } from './verify-ledger.ts'

const { dataDir } = workerData as { dataDir: string }
const { raw } = openConnection(dataDir, 5000)
const report = verifyLedger(raw)
raw.close()
must(parentPort, 'this runs as a thread').postMessage(report)
