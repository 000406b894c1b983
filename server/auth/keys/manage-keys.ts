import type { z } from 'zod'
import { isoTime, isoTimeOrNull, type Clock, type EpochMs } from '../../kernel/clock.ts'
import { ErrandError } from '../../kernel/errors.ts'
import type { KeyRecord, Scope } from '../../store/records.ts'
import type { Store } from '../../store/store.ts'
import { hashToken, newToken } from './api-token.ts'
import type { Caller } from '../caller.ts'
import type { CreatedKey, CreateKeyInput, Key, ListKeysInput, ListKeysOutput, RotateKeyInput } from './key-schema.ts'

type KeyParts = { store: Store; clock: Clock }

const dayMs = 86_400_000
const rotationDays = 90

/** Creates a key with at most the caller's scopes. The token is in the answer and nowhere else. */
export async function createKey(
  { store, clock }: KeyParts,
  { caller, input }: { caller: Caller; input: z.output<typeof CreateKeyInput> },
): Promise<z.output<typeof CreatedKey>> {
  const scopes = [...new Set<Scope>(input.scopes ?? caller.scopes)]
  assertWithin(caller, scopes)
  const now = clock.now()
  const expiresAt = input.expiresInDays === undefined ? null : now + input.expiresInDays * dayMs
  const { token, key } = draftKey({ userId: caller.userId, name: input.name, scopes, expiresAt })
  return { ...toKey(await store.createKey(key), now), key: token }
}

export async function listKeys(
  { store, clock }: KeyParts,
  { userId, state, limit, offset }: z.output<typeof ListKeysInput> & { userId: string },
): Promise<z.output<typeof ListKeysOutput>> {
  const only = state === undefined ? {} : { isLive: state === 'live' }
  const { keys, total } = await store.listKeys({ userId, limit, offset, ...only })
  const now = clock.now()
  return { keys: keys.map((key) => toKey(key, now)), total, limit, offset }
}

/** Ends a key at once; repeating it changes nothing. */
export async function revokeKey(
  { store, clock }: KeyParts,
  { userId, keyId }: { userId: string; keyId: string },
): Promise<Key> {
  await store.revokeKey({ userId, keyId })
  const key = await store.getKey({ userId, keyId })
  if (!key) throw new ErrandError('NOT_FOUND', 'API key not found')
  return toKey(key, clock.now())
}

/** A new key in the place of an old one, which goes on working for the overlap. */
export async function rotateKey(
  { store, clock }: KeyParts,
  { caller, input }: { caller: Caller; input: z.output<typeof RotateKeyInput> },
): Promise<z.output<typeof CreatedKey>> {
  const { userId } = caller
  const { keyId, overlapSeconds } = input
  const old = await store.getKey({ userId, keyId })
  if (!old) throw new ErrandError('NOT_FOUND', 'API key not found')
  const now = clock.now()
  if (old.isReplaced || !isLive(old, now)) throw notRotatable()
  assertWithin(caller, old.scopes)
  // A key that was given a life gets a new one of the same length.
  const expiresAt = old.expiresAt === null ? null : now + (old.expiresAt - old.createdAt)
  const { token, key } = draftKey({ userId, name: old.name, scopes: old.scopes, expiresAt })
  const created = await store.rotateKey({ userId, keyId, key, oldExpiresAt: now + overlapSeconds * 1000 })
  if (!created) throw notRotatable()
  return { ...toKey(created, now), key: token }
}

export function draftKey(draft: { userId: string; name: string; scopes: Scope[]; expiresAt: EpochMs | null }) {
  const token = newToken('key')
  return { token, key: { ...draft, tokenHash: hashToken(token), hint: token.slice(-4) } }
}

function assertWithin(caller: Caller, scopes: readonly Scope[]): void {
  const beyond = scopes.find((scope) => !caller.scopes.includes(scope))
  if (!beyond) return
  throw new ErrandError('FORBIDDEN', `A key grants at most its creator's scopes; "${beyond}" is beyond them.`)
}

function isLive({ expiresAt, revokedAt }: KeyRecord, now: EpochMs): boolean {
  return revokedAt === null && (expiresAt === null || expiresAt > now)
}

function notRotatable(): ErrandError {
  const message = 'This API key has ended or was rotated already, and cannot be rotated; create a new one.'
  return new ErrandError('CONFLICT', message)
}

function toKey(key: KeyRecord, now: EpochMs): Key {
  return {
    id: key.id,
    name: key.name,
    hint: key.hint,
    scopes: key.scopes,
    createdAt: isoTime(key.createdAt),
    expiresAt: isoTimeOrNull(key.expiresAt),
    revokedAt: isoTimeOrNull(key.revokedAt),
    lastUsedAt: isoTimeOrNull(key.lastUsedAt),
    rotationDue: isLive(key, now) && now - key.createdAt >= rotationDays * dayMs,
  }
}
