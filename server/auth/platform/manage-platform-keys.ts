import type { Page } from '../../store/list-place.ts'
import type { z } from 'zod'
import { isoTime, isoTimeOrNull, type Clock } from '../../kernel/clock.ts'
import { badField, ErrandError } from '../../kernel/errors.ts'
import type { Logger } from '../../kernel/logger.ts'
import { formatUsd, parseUsd } from '../../kernel/money.ts'
import { platformScopes, type PlatformKeyRecord } from '../../store/platform/platform-types.ts'
import type { Store } from '../../store/store.ts'
import type { ClientToken } from '../client-tokens/client-token-schema.ts'
import { toClientTokens } from '../client-tokens/manage-client-tokens.ts'
import { derivedToken, hashToken, newToken } from '../keys/api-token.ts'
import type {
  CreatedPlatformKey,
  CreatePlatformKeyInput,
  ListPlatformKeysOutput,
  PlatformKey,
  PlatformKeyDetails,
} from './platform-key-schema.ts'

type Parts = { store: Store; clock: Clock; log: Logger }
/** The admin who makes the change. Null for the command line. */
type By = { adminId: string | null }

const dayMs = 86_400_000

/** Creates a platform key. The key itself is returned only once. */
export async function createPlatformKey(
  { clock, log, store }: Parts,
  { adminId, input }: By & { input: z.output<typeof CreatePlatformKeyInput> },
): Promise<z.output<typeof CreatedPlatformKey>> {
  const { addresses = null, creditPerDayUsd, expiresInDays, name } = input
  const creditPerDay = creditPerDayUsd === undefined ? null : parseUsd(creditPerDayUsd)
  if (creditPerDay === undefined) throw badField('creditPerDayUsd', 'Must be a USD amount with at most four decimals')
  const scopes = [...new Set(input.scopes)]
  const expiresAt = expiresInDays === undefined ? null : clock.now() + expiresInDays * dayMs
  const token = newToken('platform')
  const own = { tokenHash: hashToken(token), hint: token.slice(-4), createdBy: adminId }
  const key = await store.platform.createKey({ ...own, name, scopes, addresses, creditPerDay, expiresAt })
  log.info({ adminId, platformKeyId: key.id, scopes }, 'a platform key was created')
  return { ...toPlatformKey(key), key: token }
}

/**
 * Returns the platform key for a server that embeds the service. The key is derived from the service's secret, so it is
 * the same after each start and on each node.
 */
export async function openEmbeddingKey({ log, store }: Omit<Parts, 'clock'>, secret: string): Promise<string> {
  const token = derivedToken('platform', { secret, purpose: 'errand: embedding server' })
  const tokenHash = hashToken(token)
  if (await store.platform.findKey(tokenHash)) return token
  const own = { tokenHash, hint: token.slice(-4), createdBy: null, name: 'Embedding server' }
  try {
    const all = { scopes: [...platformScopes], addresses: null, creditPerDay: null, expiresAt: null }
    const { id: platformKeyId } = await store.platform.createKey({ ...own, ...all })
    log.info({ platformKeyId }, 'the platform key of the embedding server was created')
  } catch (error) {
    // Another node may have created the key simultaneously.
    if (!(await store.platform.findKey(tokenHash))) throw error
  }
  return token
}

export async function listPlatformKeys(
  { store }: Pick<Parts, 'store'>,
  { limit, offset }: Page,
): Promise<z.output<typeof ListPlatformKeysOutput>> {
  const { keys, total } = await store.platform.listKeys({ limit, offset })
  return { keys: keys.map(toPlatformKey), total, limit, offset }
}

const creditDays = 30
const tokensMax = 100

export async function getPlatformKey(
  { store }: Pick<Parts, 'store'>,
  { keyId }: { keyId: string },
): Promise<PlatformKeyDetails> {
  const { platform } = store
  const key = await platform.getKey(keyId)
  if (!key) throw notFound()
  const days = await platform.readCreditDays({ keyId, days: creditDays })
  const { tokens, total } = await platform.listKeyTokens({ keyId, limit: tokensMax })
  return {
    ...toPlatformKey(key),
    lastAddresses: key.lastAddresses.map(({ address, at }) => ({ address, lastUsedAt: isoTime(at) })),
    creditDays: days.map(({ credited, day, taken }) => ({
      date: isoTime(day * dayMs).slice(0, 10),
      creditedUsd: formatUsd(credited),
      takenUsd: formatUsd(taken),
    })),
    clientTokens: await toClientTokens(store, tokens),
    clientTokensTotal: total,
  }
}

export async function revokeKeyToken(
  { log, store }: Omit<Parts, 'clock'>,
  { adminId, keyId, tokenId }: By & { keyId: string; tokenId: string },
): Promise<ClientToken> {
  const record = await store.platform.revokeKeyToken({ keyId, tokenId })
  if (!record) throw new ErrandError('NOT_FOUND', 'Client token not found. Check the ids.')
  log.info({ adminId, platformKeyId: keyId, tokenId }, 'a client token of a platform key was revoked')
  return (await toClientTokens(store, [record]))[0]!
}

export async function revokePlatformKey(
  { log, store }: Omit<Parts, 'clock'>,
  { adminId, keyId }: By & { keyId: string },
): Promise<PlatformKey> {
  await store.platform.revokeKey(keyId)
  const key = await store.platform.getKey(keyId)
  if (!key) throw notFound()
  log.info({ adminId, platformKeyId: keyId }, 'a platform key was revoked')
  return toPlatformKey(key)
}

function notFound(): ErrandError {
  return new ErrandError('NOT_FOUND', 'Platform key not found. Check the id.')
}

function toPlatformKey(key: PlatformKeyRecord): PlatformKey {
  const { addresses, creditedToday, creditPerDay, hint, id, name, scopes, takenToday } = key
  return {
    id,
    name,
    hint,
    scopes,
    addresses,
    creditPerDayUsd: creditPerDay === null ? null : formatUsd(creditPerDay),
    creditedTodayUsd: formatUsd(creditedToday),
    takenTodayUsd: formatUsd(takenToday),
    usersCreated: key.usersMade,
    createdAt: isoTime(key.createdAt),
    expiresAt: isoTimeOrNull(key.expiresAt),
    revokedAt: isoTimeOrNull(key.revokedAt),
    lastUsedAt: isoTimeOrNull(key.lastUsedAt),
  }
}
