import { z } from 'zod'
import { createPlatformKey, listPlatformKeys, revokePlatformKey } from '../auth/platform/manage-platform-keys.ts'
import { CreatePlatformKeyInput } from '../auth/platform/platform-key-schema.ts'
import { SystemClock } from '../kernel/clock.ts'
import { UsageError } from '../kernel/usage-error.ts'
import { print, withStore } from './open-store.ts'

type Common = { data?: string; json?: boolean }
type Create = Common & {
  name: string
  scopes: string
  addresses?: string
  creditPerDay?: string
  expiresDays?: number
}

const clock = new SystemClock()
/** Logs nothing, because the terminal already shows what was done. */
const log = { debug() {}, info() {}, warn() {}, error() {} }
const listedMax = 10_000

/** Option name of each field. */
const options: Record<string, string> = { creditPerDayUsd: 'credit-per-day', expiresInDays: 'expires-days' }

export async function createPlatformKeyCommand(given: Create): Promise<void> {
  const parsed = CreatePlatformKeyInput.safeParse({
    name: given.name,
    scopes: listIn(given.scopes),
    addresses: given.addresses === undefined ? undefined : listIn(given.addresses),
    creditPerDayUsd: given.creditPerDay,
    expiresInDays: given.expiresDays,
  })
  if (!parsed.success) throw new UsageError(describe(parsed.error))
  const {
    expiresAt,
    id: keyId,
    key,
  } = await withStore(given, (store) => createPlatformKey({ store, clock, log }, { adminId: null, input: parsed.data }))
  print(given, { keyId, key, expiresAt }, `${key}\nThis is shown once (${keyId}).`)
}

export async function listPlatformKeysCommand(given: Common): Promise<void> {
  const { keys } = await withStore(given, (store) => listPlatformKeys({ store }, { limit: listedMax, offset: 0 }))
  const lines = keys.map((key) => {
    const state = key.revokedAt ? 'revoked' : key.expiresAt ? `expires ${key.expiresAt}` : 'active'
    const from = key.addresses ? `from ${key.addresses.join(',')}` : 'from anywhere'
    const ceiling = key.creditPerDayUsd === null ? '' : `  ${key.creditedTodayUsd} of ${key.creditPerDayUsd} USD today`
    return `${key.id}  …${key.hint}  ${key.scopes.join(',')}  ${from}${ceiling}  ${state}  ${key.name}`
  })
  print(given, { keys }, lines.join('\n') || 'No platform keys yet.')
}

export async function revokePlatformKeyCommand(given: Common & { keyId: string }): Promise<void> {
  const { id: keyId, revokedAt } = await withStore(given, (store) =>
    revokePlatformKey({ store, log }, { adminId: null, keyId: given.keyId }),
  )
  print(given, { keyId, revokedAt }, `${keyId} is revoked.`)
}

function listIn(text: string): string[] {
  return text.split(',').map((part) => part.trim())
}

function describe({ issues }: z.ZodError): string {
  const [{ message, path }] = issues as [z.core.$ZodIssue]
  const [field = ''] = path.map(String)
  return `--${options[field] ?? field}: ${message}`
}
