import { newId } from '../../kernel/ids.ts'
import type { UserRecord } from '../records.ts'
import type {
  CreateUser,
  CreateUserResult,
  LoginCandidate,
  ListUsers,
  SetPassword,
  UpdateUser,
  UpdateUserResult,
  UserAccount,
} from '../people.ts'
import type { Connection } from './pooled-connection.ts'
import { and, asc, eq, sql } from './drizzle.ts'
import { accounts, users } from './schema.ts'
import { statementsOf } from './statements.ts'
import type { Transaction } from './transaction.ts'

// Users, each with an account.

/** Two nodes that make a user of one address at the same moment: the second is undone by the index and looks again. */
export async function createUser(
  tx: Transaction,
  { email, isAdmin, passwordHash }: CreateUser,
): Promise<CreateUserResult> {
  if (await findUser(tx, email)) return { outcome: 'refused', reason: 'email-taken' }
  const now = await tx.now()
  const userId = newId('user', now)
  const s = statements(tx)
  await s.insert.run({ id: userId, email: email.toLowerCase(), passwordHash, isAdmin: isAdmin ? 1 : 0, now })
  await s.insertAccount.run({ userId })
  tx.made({ table: 'users', id: userId })
  return { outcome: 'created', userId }
}

export async function findUser(connection: Connection, email: string): Promise<UserRecord | undefined> {
  const candidate = await findCandidate(connection, email)
  if (!candidate) return undefined
  const { passwordHash: _hash, ...user } = candidate
  return user
}

/** With what a login is checked against. */
export async function findCandidate(
  connection: Connection,
  email: string,
): Promise<(UserRecord & LoginCandidate) | undefined> {
  const row = await statements(connection).byEmail.get({ email: email.toLowerCase() })
  return row && { ...row, isAdmin: row.isAdmin === 1 }
}

export async function getUser(
  connection: Connection,
  userId: string,
): Promise<(UserAccount & { passwordHash: string | null }) | undefined> {
  const row = await statements(connection).byId.get({ userId })
  return row && { ...row, isAdmin: row.isAdmin === 1 }
}

export async function listUsers(
  connection: Connection,
  { limit, offset, search = '' }: ListUsers,
): Promise<{ users: UserAccount[]; total: number }> {
  const part = search.toLowerCase()
  const { count, list } = statements(connection)
  const [rows, counted] = await Promise.all([list.all({ part, limit, offset }), count.get({ part })])
  return { users: rows.map((row) => ({ ...row, isAdmin: row.isAdmin === 1 })), total: counted!.total }
}

/** Named by a number of ours: whoever takes an admin away waits for whoever does the same to another one. */
const adminsLock = 'SELECT pg_advisory_xact_lock(7015, 1)'

export async function updateUser(
  tx: Transaction,
  { isAdmin, isSuspended, userId }: UpdateUser,
): Promise<UpdateUserResult> {
  await tx.lockAccount({ userId })
  await tx.client.query(adminsLock)
  const user = await getUser(tx, userId)
  if (!user) return { outcome: 'refused', reason: 'unknown' }
  const s = statements(tx)
  const wasActing = user.isAdmin && user.suspendedAt === null
  const staysAdmin = isAdmin ?? user.isAdmin
  const staysSuspended = isSuspended ?? user.suspendedAt !== null
  if (wasActing && (!staysAdmin || staysSuspended) && (await s.actingAdmins.get())!.total === 1) {
    return { outcome: 'refused', reason: 'last-admin' }
  }
  await s.update.run({
    userId,
    isAdmin: staysAdmin ? 1 : 0,
    suspendedAt: staysSuspended ? (user.suspendedAt ?? (await tx.now())) : null,
  })
  return { outcome: 'updated' }
}

/** False when the password is no longer the one that this takes the place of. */
export async function setPassword(
  tx: Transaction,
  { from, passwordHash, userId }: Omit<SetPassword, 'keepLoginId' | 'forget'>,
): Promise<boolean> {
  return (await statements(tx).setPassword.run({ userId, passwordHash, from })) === 1
}

export async function countUsers(connection: Connection): Promise<{ users: number; suspended: number }> {
  return (await statements(connection).counts.get())!
}

const statements = statementsOf('user', (orm) => {
  const userId = sql.placeholder('userId')
  const isThis = eq(users.id, userId)
  const user = {
    id: users.id,
    email: users.email,
    isAdmin: users.isAdmin,
    createdAt: users.createdAt,
    suspendedAt: users.suspendedAt,
  }
  const withAccount = {
    ...user,
    userId: accounts.userId,
    balance: accounts.balance,
    held: accounts.held,
    blockedUntil: accounts.blockedUntil,
    writtenOff: sql<number>`least(${sql.raw(String(Number.MAX_SAFE_INTEGER))}, coalesce((
      SELECT count FROM counters
      WHERE counters.user_id = ${users.id} AND kind = 'written-off' AND part = '' AND status = ''), 0))`.mapWith(
      Number,
    ),
  }
  const isFound = sql`strpos(${users.email}, ${sql.placeholder('part')}) > 0`
  const total = sql<number>`count(*)`.mapWith(Number)
  return {
    insert: orm.insert(users).values({
      id: sql.placeholder('id'),
      email: sql.placeholder('email'),
      passwordHash: sql.placeholder('passwordHash'),
      isAdmin: sql.placeholder('isAdmin'),
      createdAt: sql.placeholder('now'),
    }),
    insertAccount: orm.insert(accounts).values({ userId, balance: 0, held: 0 }),
    byEmail: orm
      .select({ ...user, passwordHash: users.passwordHash })
      .from(users)
      .where(eq(users.email, sql.placeholder('email'))),
    byId: orm
      .select({ ...withAccount, passwordHash: users.passwordHash })
      .from(users)
      .innerJoin(accounts, eq(accounts.userId, users.id))
      .where(isThis),
    list: orm
      .select(withAccount)
      .from(users)
      .innerJoin(accounts, eq(accounts.userId, users.id))
      .where(isFound)
      .orderBy(asc(users.seq))
      .limit(sql.placeholder('limit'))
      .offset(sql.placeholder('offset')),
    count: orm.select({ total }).from(users).where(isFound),
    counts: orm
      .select({
        users: total,
        suspended: sql<number>`count(*) FILTER (WHERE ${users.suspendedAt} IS NOT NULL)`.mapWith(Number),
      })
      .from(users),
    actingAdmins: orm
      .select({ total })
      .from(users)
      .where(and(eq(users.isAdmin, 1), sql`${users.suspendedAt} IS NULL`)),
    update: orm
      .update(users)
      .set({ isAdmin: sql`${sql.placeholder('isAdmin')}`, suspendedAt: sql`${sql.placeholder('suspendedAt')}` })
      .where(isThis),
    setPassword: orm
      .update(users)
      .set({ passwordHash: sql`${sql.placeholder('passwordHash')}` })
      .where(and(isThis, sql`${users.passwordHash} IS NOT DISTINCT FROM ${sql.placeholder('from')}`)),
  }
})
