import { SystemClock } from '../../server/kernel/clock.ts'
import { openPostgresStore } from '../../server/store/postgres/postgres-store.ts'
import { openSqliteStore } from '../../server/store/sqlite/sqlite-store.ts'

// Erases the users of a database until the test kills this process, and reports each step.

const { databaseUrl, dataDir, limits } = JSON.parse(process.argv[2]!)
const onFatal = (cause: unknown) => {
  throw cause
}
const options = { limits, clock: (notBefore: number) => new SystemClock(notBefore), onFatal }
const store =
  dataDir === undefined
    ? await openPostgresStore({ ...options, databaseUrl, connectionsMax: 2 })
    : openSqliteStore({ ...options, dataDir })
const [userId] = await store.erasure.inProgress()
if (userId !== undefined) while (await store.erasure.eraseMore(userId)) process.send!('step')
await store.close()
process.disconnect()
