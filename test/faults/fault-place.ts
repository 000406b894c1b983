import { scopes } from '../../server/store/access/key-types.ts'
import { resolveLimits } from '../../server/app/config.ts'
import { openPostgresStoreBeside } from '../../server/store/postgres/postgres-store.ts'
import type { Store } from '../../server/store/store.ts'
import { draftKey } from '../../server/auth/keys/manage-keys.ts'
import { besideServer } from '../runner/process-client.ts'
import { newDataDir } from '../support/test-service.ts'
import type { FaultDatabase } from './fault-database.ts'
import type { DatabasePlace, Place } from './row-source.ts'

const secret = 'a secret of the fault runs only'

export async function newDatabasePlace(server: FaultDatabase): Promise<DatabasePlace> {
  return { dataDir: newDataDir(), databaseUrl: await server.newDatabase() }
}

export function databaseEnv({ databaseUrl }: DatabasePlace): Record<string, string> {
  return { ERRAND_DATABASE_URL: databaseUrl, ERRAND_SECRET: secret }
}

/** Opens a place's store, whether or not servers use it, and runs `work` on it. */
export async function besidePlace<Result>(place: Place, work: (store: Store) => Promise<Result>): Promise<Result> {
  if (typeof place === 'string') return await besideServer(place, work)
  const limits = resolveLimits({ executionsPerMinute: 0 }, {})
  const store = await openPostgresStoreBeside({
    databaseUrl: place.databaseUrl,
    limits,
    connectionsMax: 2,
    mayCreate: true,
  })
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}

export function openAccountAt(place: Place, email: string, amount: number): Promise<{ userId: string; key: string }> {
  return besidePlace(place, async (store) => {
    const created = await store.createUser({ email, passwordHash: null, isAdmin: false })
    if (created.outcome === 'refused') throw new Error(`${email} exists`)
    const { userId } = created
    if (amount > 0) await store.credit({ userId, amount, description: 'For the load', idempotencyKey: null })
    const { token, key } = draftKey({ userId, name: 'test', scopes: [...scopes], expiresAt: null })
    await store.createKey(key)
    return { userId, key: token }
  })
}
