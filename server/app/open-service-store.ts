import { assertSameSecret } from '../store/access/secret-check.ts'
import type { Secrets } from '../kernel/secret-vault.ts'
import { isoTime, SystemClock, type Clock } from '../kernel/clock.ts'
import type { Logger } from '../kernel/logger.ts'
import type { Committed } from '../store/committed.ts'
import { openSqliteStore } from '../store/sqlite/sqlite-store.ts'
import type { Store, StoreLimits } from '../store/store.ts'

type StoreSettings = {
  dataDir: string
  databaseUrl?: string | undefined
  secrets: () => Secrets
  limits: StoreLimits
  log: Logger
  onFatal: (cause: unknown) => void
  createClock?: (notBefore: number) => Clock
}

/**
 * If this machine's clock is behind the newest database entry by more than this, log a warning. Normal drift is
 * smaller.
 */
const behindMsMax = 1000
const clockIsBehind = "this machine's clock is behind the newest entry in the database. Set the clock"

export async function openServiceStore(
  { createClock, dataDir, databaseUrl, limits, log, onFatal, secrets }: StoreSettings,
  onCommit: (commit: Committed) => void,
): Promise<{ clock: Clock; store: Store }> {
  const options = { limits, onCommit, onWarning: (message: string) => log.warn({}, message) }
  let clock: Clock = new SystemClock()
  const makeClock = (notBefore: number) => {
    const aheadMs = notBefore - Date.now()
    if (!createClock && aheadMs > behindMsMax) {
      const databaseAt = isoTime(notBefore)
      log.warn({ databaseAt, behindSeconds: Math.round(aheadMs / 1000) }, clockIsBehind)
    }
    return (clock = createClock?.(notBefore) ?? new SystemClock(notBefore))
  }
  if (databaseUrl === undefined) {
    const store = openSqliteStore({ ...options, dataDir, onFatal, clock: makeClock })
    return { store: await orClose(store, assertSameSecret(store.settings, secrets(), dataDir)), clock }
  }
  // Import lazily: the PostgreSQL drivers take a tenth of the startup time.
  const { openPostgresStore } = await import('../store/postgres/postgres-store.ts')
  // All nodes use the database's clock, unless a test supplies one.
  const store = await openPostgresStore({ ...options, databaseUrl, onFatal, ...(createClock && { clock: makeClock }) })
  return { store: await orClose(store, assertSameSecret(store.settings, secrets(), null)), clock }
}

async function orClose(store: Store, checked: Promise<void>): Promise<Store> {
  try {
    await checked
    return store
  } catch (error) {
    await store.close()
    throw error
  }
}
