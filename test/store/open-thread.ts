import { parentPort, workerData } from 'node:worker_threads'
import { must } from '../../server/kernel/assert.ts'
import { SystemClock } from '../../server/kernel/clock.ts'
import { openSqliteStore, openSqliteStoreBeside } from '../../server/store/sqlite/sqlite-store.ts'
import { noLimits } from './store-world.ts'

// Opens the store in a thread at the same moment as the test's other threads do, and makes one write. A CLI command
// then closes the store; a server runs until the test ends it.

export type OpenThreadData = { dataDir: string; how: 'server' | 'beside'; email: string; gate: Int32Array }

const { dataDir, how, email, gate } = workerData as OpenThreadData
const port = must(parentPort, 'this runs as a thread')
const open = how === 'server' ? openSqliteStore : openSqliteStoreBeside
Atomics.add(gate, 0, 1)
Atomics.notify(gate, 0)
Atomics.wait(gate, 1, 0)
try {
  const onFatal = (cause: unknown) => {
    throw cause
  }
  const store = open({ dataDir, limits: noLimits, clock: (notBefore) => new SystemClock(notBefore), onFatal })
  const { outcome } = await store.createUser({ email, passwordHash: null, isAdmin: false })
  if (how === 'beside') await store.close()
  port.postMessage(outcome)
  if (how === 'server') {
    Atomics.wait(gate, 1, 1)
    await store.close()
  }
} catch (error) {
  port.postMessage(error instanceof Error ? error.message : String(error))
}
