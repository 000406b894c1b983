import { SystemClock } from '../../server/kernel/clock.ts'
import { openSqliteStore } from '../../server/store/sqlite/sqlite-store.ts'

// Erases the users of a database until the test kills this process, and reports each step.

const { dataDir, limits } = JSON.parse(process.argv[2]!)
const onFatal = (cause: unknown) => {
  throw cause
}
const store = openSqliteStore({ dataDir, limits, clock: (notBefore) => new SystemClock(notBefore), onFatal })
const [userId] = await store.erasure.inProgress()
if (userId !== undefined) while (await store.erasure.eraseMore(userId)) process.send!('step')
await store.close()
process.disconnect()
