import { scopes as allScopes, type KeyRecord, type Scope } from '../../store/access/key-types.ts'
import type { z } from 'zod'
import { isoTime, isoTimeOrNull, type Clock, type EpochMs } from '../../kernel/clock.ts'
import { ErrandError } from '../../kernel/errors.ts'
import { formatUsd, parseUsd } from '../../kernel/money.ts'
import type { SpendLimit, SpendState } from '../../store/limits/execution-limits.ts'
import type { Store } from '../../store/store.ts'
import type { UpdateKey } from '../../store/limits/limit-types.ts'
import { hashToken, newToken } from './api-token.ts'
import type { Caller } from '../../procedures/caller.ts'
import type {
  CreatedKey,
  CreateKeyInput,
  Key,
  ListKeysInput,
  ListKeysOutput,
  RotateKeyInput,
  UpdateKeyInput,
} from './key-schema.ts'

type KeyParts = { store: Store; clock: Clock }

const dayMs = 86_400_000
const rotationDays = 90

/** Creates a key with at most the caller's scopes. The key itself is returned only once. */
export async function createKey(
  { clock, store }: KeyParts,
  { caller, input }: { caller: Caller; input: z.output<typeof CreateKeyInput> },
): Promise<z.output<typeof CreatedKey>> {
  const scopes = [...new Set(input.scopes ?? allScopes.filter((scope) => caller.scopes.includes(scope)))]
  assertWithin(caller, scopes)
  assertUnlimited(caller)
  const now = clock.now()
  const expiresAt = input.expiresInDays === undefined ? null : now + input.expiresInDays * dayMs
  const { token, key } = draftKey({ userId: caller.userId, name: input.name, scopes, expiresAt })
  const { agents = null, executionsPerMinute: rateLimit = null, limitReset = 'never', limitUsd } = input
  const spend = limitUsd === undefined ? {} : { spendLimit: parseUsd(limitUsd)!, spendReset: limitReset }
  const created = await store.createKey({ ...key, ...spend, agents, rateLimit })
  return { ...(await toKeys(store, [created], now))[0]!, key: token }
}

export async function updateKey(
  { clock, store }: KeyParts,
  { caller, input }: { caller: Caller; input: z.output<typeof UpdateKeyInput> },
): Promise<Key> {
  const { userId } = caller
  const { agents, executionsPerMinute, keyId, limitReset, limitUsd } = input
  assertUnlimited(caller)
  const known = await store.getKey({ userId, keyId })
  if (!known) throw notFound()
  const now = clock.now()
  if (!isLive(known, now)) throw new ErrandError('CONFLICT', 'This API key is revoked or expired. Create a new one.')
  if (limitReset !== undefined && limitUsd === undefined && known.spendLimit === null) {
    throw new ErrandError('CONFLICT', 'This API key does not have a spending limit to reset. Send limitUsd too.')
  }
  const changes: UpdateKey['changes'] = {
    ...(limitUsd !== undefined &&
      limitUsd !== null && { spendLimit: parseUsd(limitUsd)!, spendReset: limitReset ?? known.spendReset ?? 'never' }),
    ...(limitUsd === null && { spendLimit: null, spendReset: null }),
    ...(limitUsd === undefined && limitReset !== undefined && { spendReset: limitReset }),
    ...(executionsPerMinute !== undefined && { rateLimit: executionsPerMinute }),
    ...(agents !== undefined && { agents }),
  }
  const updated = await store.updateKey({ userId, keyId, changes })
  if (!updated) throw notFound()
  return (await toKeys(store, [updated], now))[0]!
}

export async function listKeys(
  { store, clock }: KeyParts,
  { userId, state, limit, offset }: z.output<typeof ListKeysInput> & { userId: string },
): Promise<z.output<typeof ListKeysOutput>> {
  const only = state === undefined ? {} : { isLive: state === 'live' }
  const { keys, total } = await store.listKeys({ userId, limit, offset, ...only })
  return { keys: await toKeys(store, keys, clock.now()), total, limit, offset }
}

export async function getKey({ store, clock }: KeyParts, of: { userId: string; keyId: string }): Promise<Key> {
  const key = await store.getKey(of)
  if (!key) throw notFound()
  return (await toKeys(store, [key], clock.now()))[0]!
}

export async function revokeKey(parts: KeyParts, of: { userId: string; keyId: string }): Promise<Key> {
  await parts.store.revokeKey(of)
  return await getKey(parts, of)
}

/** Replaces a key. The old one remains valid during the overlap. */
export async function rotateKey(
  { store, clock }: KeyParts,
  { caller, input }: { caller: Caller; input: z.output<typeof RotateKeyInput> },
): Promise<z.output<typeof CreatedKey>> {
  const { userId } = caller
  const { keyId, overlapSeconds } = input
  const old = await store.getKey({ userId, keyId })
  if (!old) throw notFound()
  const now = clock.now()
  if (old.replacedBy !== null || !isLive(old, now)) throw notRotatable()
  assertWithin(caller, old.scopes)
  // A key with limits may rotate itself, because the new key has the same limits.
  const { credential } = caller
  if (credential.kind !== 'key' || credential.keyId !== keyId) assertUnlimited(caller)
  // The new key gets the same lifetime as the old one.
  const expiresAt = old.expiresAt === null ? null : now + (old.expiresAt - old.createdAt)
  const { token, key } = draftKey({ userId, name: old.name, scopes: old.scopes, expiresAt })
  const created = await store.rotateKey({ userId, keyId, key, oldExpiresAt: now + overlapSeconds * 1000 })
  if (!created) throw notRotatable()
  return { ...(await toKeys(store, [created], now))[0]!, key: token }
}

export function draftKey(draft: { userId: string; name: string; scopes: Scope[]; expiresAt: EpochMs | null }) {
  const token = newToken('key')
  return { token, key: { ...draft, tokenHash: hashToken(token), hint: token.slice(-4) } }
}

function assertWithin(caller: Caller, scopes: readonly Scope[]): void {
  const beyond = scopes.find((scope) => !caller.scopes.includes(scope))
  if (!beyond) return
  throw new ErrandError('FORBIDDEN', `A key cannot have scopes that its creator lacks. Remove "${beyond}".`)
}

function isLive({ expiresAt, revokedAt }: KeyRecord, now: EpochMs): boolean {
  return revokedAt === null && (expiresAt === null || expiresAt > now)
}

function notRotatable(): ErrandError {
  const message = 'This API key is revoked, expired or already rotated. Create a new one.'
  return new ErrandError('CONFLICT', message)
}

/** A key with limits must neither create keys nor change the limits of existing ones. */
function assertUnlimited({ agents, limits }: Caller): void {
  if (agents === null && limits === null) return
  const message = 'An API key with limits cannot create or change keys. Use a key without limits or a browser login.'
  throw new ErrandError('FORBIDDEN', message)
}

function notFound(): ErrandError {
  return new ErrandError('NOT_FOUND', 'API key not found. Check the id.')
}

async function toKeys(store: Store, keys: readonly KeyRecord[], now: EpochMs): Promise<Key[]> {
  const limits = keys.map(spendLimitOf)
  const states = await store.spendStates(limits.filter((limit) => limit !== null))
  return keys.map((key, at) => toKey(key, { now, spend: limits[at] ? states.shift()! : null }))
}

function spendLimitOf({ countsAs: ownerId, spendLimit: amount, spendReset }: KeyRecord): SpendLimit | null {
  return amount === null ? null : { ownerId, amount, reset: spendReset ?? 'never' }
}

function toKey(key: KeyRecord, { now, spend }: { now: EpochMs; spend: SpendState | null }): Key {
  return {
    id: key.id,
    name: key.name,
    hint: key.hint,
    scopes: key.scopes,
    createdAt: isoTime(key.createdAt),
    expiresAt: isoTimeOrNull(key.expiresAt),
    revokedAt: isoTimeOrNull(key.revokedAt),
    lastUsedAt: isoTimeOrNull(key.lastUsedAt),
    replacedBy: key.replacedBy,
    limitUsd: spend && formatUsd(spend.amount),
    limitReset: spend && spend.reset,
    usedUsd: spend && formatUsd(spend.charged + spend.held),
    resetsAt: isoTimeOrNull(spend && spend.resetsAt),
    executionsPerMinute: key.rateLimit,
    agents: key.agents,
    rotationDue: isLive(key, now) && now - key.createdAt >= rotationDays * dayMs,
  }
}
