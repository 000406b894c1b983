import { scopes } from '../../server/store/access/key-types.ts'
import { draftKey } from '../../server/auth/keys/manage-keys.ts'
import { besidePlace } from './fault-place.ts'
import { attacks, type AttackName } from './hostile-attacks.ts'
import type { HostileUser } from './hostile-client.ts'
import type { Place } from './row-source.ts'

const honestUsers = 10
/** More than a user can spend in an hour. */
const richUnits = 1_000_000_0000
const names = Object.keys(attacks) as AttackName[]

export type HostileAccounts = {
  honest: { userId: string; key: string }[]
  attackers: Record<AttackName, HostileUser[]>
  poor: { userId: string; amount: number }[]
}

export async function openAccounts(place: Place): Promise<HostileAccounts> {
  const accounts: HostileAccounts = { honest: [], attackers: {} as HostileAccounts['attackers'], poor: [] }
  await besidePlace(place, async (store) => {
    const open = async (email: string, amount: number) => {
      const created = await store.createUser({ email, passwordHash: null, isAdmin: false })
      if (created.outcome === 'refused') throw new Error(`${email} exists`)
      const { userId } = created
      await store.credit({ userId, amount, description: 'For the run', idempotencyKey: null })
      const keys: string[] = []
      for (const some of [scopes, ['read'] as const]) {
        const { token, key } = draftKey({ userId, name: 'test', scopes: [...some], expiresAt: null })
        await store.createKey(key)
        keys.push(token)
      }
      return { userId, key: keys[0]!, readKey: keys[1]! }
    }
    for (let n = 0; n < honestUsers; n++) accounts.honest.push(await open(`honest${n}@example.com`, richUnits))
    for (const [at, name] of names.entries()) {
      const { accounts: count, balance } = attacks[name]()
      accounts.attackers[name] = []
      for (let n = 0; n < Math.max(1, count); n++) {
        const user = await open(`hostile${at}-${n}@example.com`, balance ?? richUnits)
        accounts.attackers[name].push(user)
        if (balance !== undefined) accounts.poor.push({ userId: user.userId, amount: Math.floor(balance / 2) })
      }
    }
  })
  return accounts
}

/**
 * Tops up poor accounts, which would otherwise soon be empty, so that all their requests would be rejected immediately.
 */
export async function topUpAll(place: Place, poor: HostileAccounts['poor']): Promise<void> {
  await besidePlace(place, async (store) => {
    for (const { amount, userId } of poor) {
      await store.credit({ userId, amount, description: 'A little more', idempotencyKey: null })
    }
  })
}
