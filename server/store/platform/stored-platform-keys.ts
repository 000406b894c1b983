import type { Page } from '../list-place.ts'
import type { EpochMs } from '../../kernel/clock.ts'
import { newId } from '../../kernel/ids.ts'
import type { Units } from '../../kernel/money.ts'
import { assertPlatformKeyRoom, usersPerPlatformKeyMax } from '../limits/account-bounds.ts'
import {
  lastAddressesMax,
  type AddressUse,
  type CreatePlatformKey,
  type CreditDay,
  type PlatformKeyHolder,
  type PlatformKeyRecord,
  type PlatformScope,
  type TouchPlatformKey,
} from './platform-types.ts'
import type { Answer, Op, Reads, Tx } from '../commands/command.ts'
import { columns, insertInto, statement } from '../commands/statement.ts'

type Written<Record extends { scopes: unknown; addresses: unknown }> = Omit<Record, 'scopes' | 'addresses'> & {
  scopes: string
  addresses: string | null
}
type Row = Written<Omit<PlatformKeyRecord, 'creditedToday' | 'takenToday' | 'lastAddresses'>> & {
  lastAddresses: string | null
  creditDay: number
  credited: Units
  taken: Units
}

const dayMs = 86_400_000

const names = 'id name hint scopes addresses creditPerDay createdBy createdAt expiresAt'
const row = columns(`${names} creditDay credited taken usersMade revokedAt lastUsedAt lastAddresses`)
const live = '(revoked_at IS NULL AND coalesce(expires_at > :now, true))'

const insert = statement('platform_key_insert', insertInto('platform_keys', `${names} tokenHash`))
const find = statement<Written<PlatformKeyHolder>>(
  'platform_key_find',
  `SELECT ${columns('id scopes addresses expiresAt revokedAt')} FROM platform_keys WHERE token_hash = :tokenHash`,
)
const get = statement<Row>('platform_key_get', `SELECT ${row} FROM platform_keys WHERE id = :keyId`)
const list = statement<Row>(
  'platform_key_list',
  ({ seq }) => `SELECT ${row} FROM platform_keys ORDER BY created_at DESC, ${seq} DESC LIMIT :limit OFFSET :offset`,
)
const count = statement<{ all: number; live: number }>(
  'platform_key_count',
  `SELECT count(*) AS "all", count(*) FILTER (WHERE ${live}) AS live FROM platform_keys`,
)
const revoke = statement(
  'platform_key_revoke',
  'UPDATE platform_keys SET revoked_at = :now WHERE id = :keyId AND revoked_at IS NULL',
)
const touch = statement(
  'platform_key_touch',
  ({
    greatest,
    members,
  }) => `UPDATE platform_keys SET last_used_at = ${greatest}(coalesce(last_used_at, used.at), used.at)
    FROM ${members(':uses')} WHERE platform_keys.id = used.id`,
)
const setAddresses = statement(
  'platform_key_set_addresses',
  'UPDATE platform_keys SET last_addresses = :lastAddresses WHERE id = :keyId',
)
const countMade = statement(
  'platform_key_count_user',
  'UPDATE platform_keys SET users_made = users_made + 1 WHERE id = :keyId AND users_made < :max',
)
// One statement checks the limit and counts the amount, so concurrent changes to many accounts cannot exceed the
// limit. Setting the clock back does not start a new day. Debits have their own limit, so that a mistaken credit
// can be corrected on the same day.
const ofDay = (column: string) => `CASE WHEN credit_day >= :day THEN ${column} ELSE 0 END`
const isWithin = (column: string) => `${ofDay(column)} + :${column} <= credit_per_day`
const countCredit = statement<{ creditDay: number }>(
  'platform_key_credit',
  ({ greatest }) => `UPDATE platform_keys
    SET credited = ${ofDay('credited')} + :credited, taken = ${ofDay('taken')} + :taken,
      credit_day = ${greatest}(credit_day, :day)
    WHERE id = :keyId AND revoked_at IS NULL
      AND (credit_per_day IS NULL OR ${isWithin('credited')} AND ${isWithin('taken')})
    RETURNING credit_day AS "creditDay"`,
)

const sumOfDay = statement<Omit<CreditDay, 'day'>>(
  'platform_key_sum_of_day',
  `SELECT coalesce(sum(amount) FILTER (WHERE amount > 0), 0) AS credited,
      coalesce(-sum(amount) FILTER (WHERE amount < 0), 0) AS taken
    FROM transactions WHERE counted_in = :countedIn AND counted_in IS NOT NULL`,
)

export function* createPlatformKey(tx: Tx, input: CreatePlatformKey): Op<PlatformKeyRecord> {
  const { addresses, scopes, ...rest } = input
  yield* tx.lock('admins')
  const now = yield* tx.now()
  assertPlatformKeyRoom((yield* tx.get(count, { now }))!)
  const id = newId('pkey', now)
  const written = { scopes: scopes.join(','), addresses: addresses && JSON.stringify(addresses) }
  yield* tx.run(insert, { ...rest, ...written, id, createdAt: now })
  tx.made({ table: 'platform_keys', id })
  return (yield* getPlatformKey(tx, id))!
}

export function findPlatformKey(on: Reads, tokenHash: string): Answer<PlatformKeyHolder | undefined> {
  return on.get(find, { tokenHash }).map((found) => found && { ...found, ...readLists(found) })
}

export function* getPlatformKey(on: Reads, keyId: string): Op<PlatformKeyRecord | undefined> {
  const found = yield* on.get(get, { keyId })
  return found && toRecord(found, yield* on.now())
}

export function* listPlatformKeys(on: Reads, page: Page): Op<{ keys: PlatformKeyRecord[]; total: number }> {
  const now = yield* on.now()
  const rows = on.all(list, { limit: page.limit, offset: page.offset })
  const { all: total } = (yield* on.get(count, { now }))!
  return { keys: (yield* rows).map((found) => toRecord(found, now)), total }
}

/** Returns the credit granted on each of the last `days` UTC days, including today, oldest first. */
export function* readCreditDays(on: Reads, { days, keyId }: { keyId: string; days: number }): Op<CreditDay[]> {
  const today = dayOf(yield* on.now())
  const sums: CreditDay[] = []
  for (let day = today - days + 1; day <= today; day++) {
    const { credited, taken } = (yield* on.get(sumOfDay, { countedIn: countedIn(keyId, day) }))!
    sums.push({ day, credited: Number(credited), taken: Number(taken) })
    yield* on.pause(keyId)
  }
  return sums
}

export function* revokePlatformKey(tx: Tx, keyId: string): Op<boolean> {
  tx.holdersChanged('platform-keys')
  return (yield* tx.run(revoke, { keyId, now: yield* tx.now() })) === 1
}

export function* touchPlatformKeys(tx: Tx, uses: readonly TouchPlatformKey[]): Op<void> {
  // Locks the rows, so that no other node changes the addresses between the read and the write.
  yield* tx.run(touch, { uses: JSON.stringify(Object.fromEntries(uses.map(({ at, keyId }) => [keyId, at]))) })
  for (const { addresses, keyId } of uses) {
    const stored = yield* tx.get(get, { keyId })
    if (!stored) continue
    const lastAddresses = JSON.stringify(newestOf([...readAddresses(stored), ...addresses]))
    if (lastAddresses !== stored.lastAddresses) yield* tx.run(setAddresses, { keyId, lastAddresses })
  }
}

function newestOf(uses: readonly AddressUse[]): AddressUse[] {
  const newestFirst = uses.toSorted((a, b) => b.at - a.at)
  const isNewest = ({ address }: AddressUse, at: number) =>
    newestFirst.findIndex((use) => use.address === address) === at
  return newestFirst.filter(isNewest).slice(0, lastAddressesMax)
}

function readAddresses({ lastAddresses }: Pick<Row, 'lastAddresses'>): AddressUse[] {
  return lastAddresses === null ? [] : (JSON.parse(lastAddresses) as AddressUse[])
}

/**
 * Counts an amount toward the key's daily limit. Returns a JSON object that maps the key's id to the day whose limit
 * was used. Returns undefined if the key was revoked or if the amount exceeds the rest of the limit.
 */
export function* takeCredit(tx: Tx, of: { keyId: string; amount: Units; now: EpochMs }): Op<string | undefined> {
  const { amount, keyId, now } = of
  const counted = { keyId, credited: Math.max(0, amount), taken: Math.max(0, -amount), day: dayOf(now) }
  const row = yield* tx.get(countCredit, counted)
  return row && countedIn(keyId, row.creditDay)
}

export function* countUser(tx: Tx, keyId: string): Op<boolean> {
  return (yield* tx.run(countMade, { keyId, max: usersPerPlatformKeyMax })) === 1
}

function countedIn(keyId: string, day: number): string {
  return JSON.stringify({ [keyId]: day })
}

function dayOf(now: EpochMs): number {
  return Math.floor(now / dayMs)
}

function readLists({ addresses, scopes }: { scopes: string; addresses: string | null }) {
  return {
    scopes: scopes.split(',') as PlatformScope[],
    addresses: addresses === null ? null : (JSON.parse(addresses) as string[]),
  }
}

function toRecord({ creditDay, credited, taken, ...key }: Row, now: EpochMs): PlatformKeyRecord {
  const isToday = creditDay >= dayOf(now)
  return {
    ...key,
    ...readLists(key),
    lastAddresses: readAddresses(key),
    creditedToday: isToday ? credited : 0,
    takenToday: isToday ? taken : 0,
  }
}
