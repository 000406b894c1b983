import type { UserRecord } from './account-types.ts'
import { newId } from '../../kernel/ids.ts'
import type {
  CreateUser,
  CreateUserResult,
  ListUsers,
  LoginCandidate,
  SetPassword,
  UpdateUser,
  UpdateUserResult,
  UserAccount,
} from '../access/people-types.ts'
import type { AccountLimits } from '../limits/account-limits.ts'
import type { Op, Reads, Tx } from '../commands/command.ts'
import { columns, insertInto, statement, type Dialect } from '../commands/statement.ts'

type Flagged<Record extends { isAdmin: boolean }> = Omit<Record, 'isAdmin'> & { isAdmin: 0 | 1 }
type WithHash = { passwordHash: string | null }

const user = columns('id email isAdmin createdAt suspendedAt externalId erasedAt')
const account = columns('userId balance held owed notifyBelow blockedUntil connectorsBlockedUntil plan limits')
/** Total of a user's write-offs, capped at the largest safe integer. */
const writtenOff = (least: string) => `${least}(${Number.MAX_SAFE_INTEGER}, coalesce((
  SELECT count FROM counters
  WHERE counters.user_id = users.id AND kind = 'written-off' AND part = '' AND status = ''), 0)) AS "writtenOff"`
const joined = 'FROM users JOIN accounts ON accounts.user_id = users.id'
const found = ({ position, seq }: Dialect, plan: string) => `users.${seq} > :after AND users.${seq} <= :until
  AND (:withAdmins = 1 OR is_admin = 0)
  AND (:part = '' OR ${position}(email, :part) > 0 OR coalesce(${position}(external_id, :search), 0) > 0)
  AND (:plan = '' OR ${plan} = :plan OR (:isDefaultPlan = 1 AND ${plan} IS NULL))`

const insert = statement('user_insert', insertInto('users', 'id email passwordHash isAdmin createdAt externalId'))
const insertAccount = statement(
  'user_insert_account',
  'INSERT INTO accounts (user_id, balance, held, plan) VALUES (:userId, 0, 0, :plan)',
)
const byEmail = statement<Flagged<UserRecord> & WithHash>(
  'user_by_email',
  `SELECT ${user}, ${columns('passwordHash')} FROM users WHERE email = :email`,
)
type AccountRow = Omit<Flagged<UserAccount>, 'limits'> & { limits: string | null }
const byId = statement<AccountRow & WithHash>(
  'user_by_id',
  ({ least }) => `SELECT ${user}, ${columns('passwordHash')}, ${account}, ${writtenOff(least)} ${joined}
    WHERE id = :userId`,
)
const list = statement<AccountRow>(
  'user_list',
  (dialect) => `SELECT ${user}, ${account}, ${writtenOff(dialect.least)} ${joined}
    WHERE ${found(dialect, 'plan')} ORDER BY users.${dialect.seq} LIMIT :limit OFFSET :offset`,
)
const count = statement<{ total: number }>(
  'user_count',
  // Uses a subquery instead of a join, so that only a search by plan reads the accounts.
  (dialect) => `SELECT count(*) AS total FROM users
    WHERE ${found(dialect, '(SELECT plan FROM accounts WHERE accounts.user_id = users.id)')}`,
)
export const newest = statement<{ seq: number | null }>(
  'user_newest',
  ({ seq }) => `SELECT max(${seq}) AS seq FROM users`,
)
const actingAdmins = statement<{ total: number }>(
  'user_acting_admins',
  'SELECT count(*) AS total FROM users WHERE is_admin = 1 AND suspended_at IS NULL',
)
const update = statement(
  'user_update',
  'UPDATE users SET is_admin = :isAdmin, suspended_at = :suspendedAt WHERE id = :userId',
)
const changePassword = statement(
  'user_set_password',
  'UPDATE users SET password_hash = :passwordHash WHERE id = :userId AND password_hash IS NOT DISTINCT FROM :from',
)

/**
 * If two nodes concurrently create users with the same email address, the unique index rolls one command back. That
 * command runs again and is rejected.
 */
export function* createUser(tx: Tx, input: CreateUser): Op<CreateUserResult> {
  const { email, externalId = null, isAdmin, passwordHash, plan = null } = input
  if (email !== null && (yield* findUser(tx, email))) return { outcome: 'refused', reason: 'email-taken' }
  const now = yield* tx.now()
  const userId = newId('user', now)
  // `.invalid` is a reserved domain, so no server can receive mail for it.
  const address = email?.toLowerCase() ?? `${userId}@users.invalid`
  const row = { id: userId, email: address, passwordHash, isAdmin: isAdmin ? 1 : 0, createdAt: now, externalId }
  yield* tx.run(insert, row)
  yield* tx.run(insertAccount, { userId, plan })
  tx.made({ table: 'users', id: userId })
  return { outcome: 'created', userId }
}

export function* findUser(on: Reads, email: string): Op<UserRecord | undefined> {
  const candidate = yield* findCandidate(on, email)
  if (!candidate) return undefined
  const { passwordHash: _hash, ...known } = candidate
  return known
}

export function* findCandidate(on: Reads, email: string): Op<(UserRecord & LoginCandidate) | undefined> {
  const row = yield* on.get(byEmail, { email: email.toLowerCase() })
  return row && toRecord(row)
}

export function* getUser(on: Reads, userId: string): Op<(UserAccount & WithHash) | undefined> {
  const row = yield* on.get(byId, { userId })
  return row && toAccount(row)
}

/**
 * Reads a page and counts all matching users in one pass, one batch per event-loop tick. A search among 500,000 users
 * in a single tick blocked the event loop for 1.4 s. All passes share one queue, so concurrent searches do not slow
 * other requests further.
 */
export function* listUsers(
  on: Reads,
  { limit, offset, search = '', plan = '', isDefaultPlan = false, withoutAdmins = false }: ListUsers,
): Op<{ users: UserAccount[]; total: number }> {
  const asked = {
    part: search.toLowerCase(),
    search,
    plan,
    isDefaultPlan: isDefaultPlan ? 1 : 0,
    withAdmins: withoutAdmins ? 0 : 1,
  }
  const last = (yield* on.get(newest))!.seq ?? 0
  const users: UserAccount[] = []
  let total = 0
  for (let after = 0; after < last; after += on.skippedPerTick) {
    if (after > 0) yield* on.pause('users')
    const piece = { ...asked, after, until: Math.min(last, after + on.skippedPerTick) }
    const matches = (yield* on.get(count, piece))!.total
    const left = Math.max(0, offset - total)
    total += matches
    if (matches <= left || users.length === limit) continue
    const rows = yield* on.all(list, { ...piece, limit: limit - users.length, offset: left })
    users.push(...rows.map((row) => toAccount(row)))
  }
  return { users, total }
}

export function* updateUser(tx: Tx, input: UpdateUser): Op<UpdateUserResult> {
  const { isAdmin, isSuspended, userId, withoutAdmins = false } = input
  yield* tx.lockAccount({ userId })
  // Serializes removals of admins, so that at least one always remains.
  yield* tx.lock('admins')
  tx.holdersChanged('users')
  const known = yield* getUser(tx, userId)
  if (!known || (known.isAdmin && withoutAdmins)) return { outcome: 'refused', reason: 'unknown' }
  if (known.erasedAt !== null) return { outcome: 'refused', reason: 'erased' }
  const staysAdmin = isAdmin ?? known.isAdmin
  const staysSuspended = isSuspended ?? known.suspendedAt !== null
  if ((!staysAdmin || staysSuspended) && (yield* isLastAdmin(tx, known))) {
    return { outcome: 'refused', reason: 'last-admin' }
  }
  const suspendedAt = staysSuspended ? (known.suspendedAt ?? (yield* tx.now())) : null
  yield* tx.run(update, { userId, isAdmin: staysAdmin ? 1 : 0, suspendedAt })
  return { outcome: 'updated' }
}

/** The caller must have locked `admins`. */
export function* isLastAdmin(on: Reads, { isAdmin, suspendedAt }: UserAccount): Op<boolean> {
  return isAdmin && suspendedAt === null && (yield* on.get(actingAdmins))!.total === 1
}

/** Returns false if the stored hash is no longer `from`. */
export function* setPassword(
  tx: Tx,
  { from, passwordHash, userId }: Omit<SetPassword, 'keepLoginId' | 'forget'>,
): Op<boolean> {
  return (yield* tx.run(changePassword, { userId, passwordHash, from })) === 1
}

function toRecord<Row extends { isAdmin: 0 | 1 }>(row: Row): Omit<Row, 'isAdmin'> & { isAdmin: boolean } {
  return { ...row, isAdmin: row.isAdmin === 1 }
}

function toAccount<Row extends AccountRow>(row: Row) {
  const limits = row.limits === null ? {} : (JSON.parse(row.limits) as Partial<AccountLimits>)
  return { ...toRecord(row), limits }
}
