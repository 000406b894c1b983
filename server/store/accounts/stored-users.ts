import type { UserRecord } from './account-types.ts'
import { must } from '../../kernel/assert.ts'
import { newId } from '../../kernel/ids.ts'
import type {
  CreateUser,
  CreateUserResult,
  ListedUser,
  ListUsers,
  LoginCandidate,
  SetPassword,
  UpdateUser,
  UpdateUserResult,
  UserOrder,
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
const spent = `coalesce((SELECT CAST(sum(charged - refunded) AS bigint) FROM book_days
  WHERE book_days.user_id = users.id AND day >= :spentSince), 0)`
const activeDay = '(SELECT max(day) FROM book_days WHERE book_days.user_id = users.id)'
type Ranked = { id: string; value: number }
const rankedBy = (name: UserOrder, value: string) =>
  statement<Ranked>(
    `user_ranked_${name}`,
    (dialect) => `SELECT users.id AS id, ${value} AS value ${joined}
      WHERE ${found(dialect, 'plan')} ORDER BY value DESC, users.${dialect.seq} LIMIT :limit`,
  )
const ranked = { spent: rankedBy('spent', spent), active: rankedBy('active', `coalesce(${activeDay}, 0)`) }
const oldest = statement<{ id: string }>(
  'user_oldest',
  (dialect) => `SELECT id ${joined} WHERE ${found(dialect, 'plan')}
    ORDER BY users.${dialect.seq} LIMIT :limit OFFSET :offset`,
)
// Takes ids instead of an offset, because PostgreSQL would also compute the columns of all skipped rows.
const list = statement<AccountRow & Pick<ListedUser, 'spent' | 'activeDay'>>(
  'user_list',
  ({ least, members }) => `SELECT ${user}, ${account}, ${writtenOff(least)}, ${spent} AS spent,
      ${activeDay} AS "activeDay"
    ${joined} WHERE users.id IN (SELECT id FROM ${members(':ids')})`,
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
  { limit, offset, order = 'created', search = '', plan = '', spentSince = 0, ...flags }: ListUsers,
): Op<{ users: ListedUser[]; total: number }> {
  const { isDefaultPlan = false, withoutAdmins = false } = flags
  const asked = {
    spentSince,
    part: search.toLowerCase(),
    search,
    plan,
    isDefaultPlan: isDefaultPlan ? 1 : 0,
    withAdmins: withoutAdmins ? 0 : 1,
  }
  const last = (yield* on.get(newest))!.seq ?? 0
  // Use smaller batches for ranking, because it also reads the books of each user.
  const batch = on.skippedPerTick / { created: 1, active: 10, spent: 100 }[order]
  let candidates: Ranked[] = []
  let ids: string[] = []
  let total = 0
  for (let after = 0; after < last; after += batch) {
    if (after > 0) yield* on.pause('users')
    const piece = { ...asked, after, until: Math.min(last, after + batch) }
    const matches = (yield* on.get(count, piece))!.total
    const left = Math.max(0, offset - total)
    total += matches
    if (order !== 'created') {
      candidates = candidates
        .concat(yield* on.all(ranked[order], { ...piece, limit: offset + limit }))
        .toSorted((one, other) => other.value - one.value)
        .slice(0, offset + limit)
    } else if (matches > left && ids.length < limit) {
      const page = yield* on.all(oldest, { ...piece, limit: limit - ids.length, offset: left })
      ids.push(...page.map(({ id }) => id))
    }
  }
  if (order !== 'created') ids = candidates.slice(offset).map(({ id }) => id)
  const rows = yield* on.all(list, { spentSince, ids: JSON.stringify(Object.fromEntries(ids.map((id) => [id, 0]))) })
  const byId = new Map(rows.map((row) => [row.id, toAccount(row)]))
  return { users: ids.map((id) => must(byId.get(id), 'users are never deleted')), total }
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
