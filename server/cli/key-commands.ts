import type { UserRecord } from '../store/accounts/account-types.ts'
import { scopes } from '../store/access/key-types.ts'
import { z } from 'zod'
import { CreateKeyInput } from '../auth/keys/key-schema.ts'
import { unlimited, type Caller } from '../procedures/caller.ts'
import { createKey, listKeys, revokeKey } from '../auth/keys/manage-keys.ts'
import { SystemClock } from '../kernel/clock.ts'
import { UsageError } from '../kernel/usage-error.ts'
import { findUserOrFail, print, withStore } from './open-store.ts'

type Common = { data?: string; json?: boolean; email: string }

const clock = new SystemClock()

export async function createKeyForUser(
  options: Common & {
    name: string
    scopes?: string
    expiresDays?: number
    limitUsd?: string
    limitReset?: string
    executionsPerMinute?: string
    agents?: string
  },
): Promise<void> {
  const given = listOf(options.scopes)
  const unknown = given?.find((scope) => !(scopes as readonly string[]).includes(scope))
  if (unknown !== undefined) throw new UsageError(`--scopes: "${unknown}" must be one of ${scopes.join(', ')}.`)
  const parsed = CreateKeyInput.safeParse({
    name: options.name,
    scopes: given,
    expiresInDays: options.expiresDays,
    limitUsd: options.limitUsd,
    limitReset: options.limitReset,
    executionsPerMinute: options.executionsPerMinute === undefined ? undefined : Number(options.executionsPerMinute),
    agents: listOf(options.agents),
  })
  if (!parsed.success) throw new UsageError(`--${z.prettifyError(parsed.error).replaceAll(/\s*\n\s*/g, ' ')}`)
  const created = await withStore(options, async (store) => {
    const caller = operatorFor(await findUserOrFail(store, options.email))
    return await createKey({ store, clock }, { caller, input: parsed.data })
  })
  const { id: keyId, key, expiresAt } = created
  print(options, { keyId, key, expiresAt }, `${key}\nThis is shown once (${keyId}).`)
}

export async function listKeysOfUser(options: Common): Promise<void> {
  const { keys } = await withStore(options, async (store) => {
    const { id: userId } = await findUserOrFail(store, options.email)
    return await listKeys({ store, clock }, { userId, limit: 1000, offset: 0 })
  })
  const lines = keys.map((key) => {
    const state = key.revokedAt ? 'revoked' : key.expiresAt ? `expires ${key.expiresAt}` : 'active'
    return `${key.id}  …${key.hint}  ${key.scopes.join(',')}  ${state}  ${key.name}`
  })
  print(options, { keys }, lines.join('\n') || 'No keys yet.')
}

export async function revokeKeyOfUser(options: Common & { keyId: string }): Promise<void> {
  const key = await withStore(options, async (store) => {
    const { id: userId } = await findUserOrFail(store, options.email)
    return await revokeKey({ store, clock }, { userId, keyId: options.keyId })
  })
  print(options, { keyId: key.id, revokedAt: key.revokedAt }, `${key.id} is revoked.`)
}

export function listOf(text: string | undefined): string[] | undefined {
  return text?.split(',').map((item) => item.trim())
}

/**
 * Returns a caller with all rights, because anyone who can read and write the data directory can do everything anyway.
 */
function operatorFor({ id: userId, email, isAdmin }: UserRecord): Caller {
  return { ...unlimited, userId, email, isAdmin, scopes, credential: { kind: 'operator' } }
}
