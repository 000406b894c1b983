import type { Clock } from '../../kernel/clock.ts'
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
import { and, eq, sql } from './drizzle.ts'
import type { Connection } from './database.ts'
import { accounts, users } from './schema.ts'

/** Users, each with an account. */
export class UserRows {
  readonly #statements
  readonly #clock: Clock

  constructor(connection: Connection, clock: Clock) {
    this.#statements = prepare(connection)
    this.#clock = clock
  }

  create({ email, passwordHash, isAdmin }: CreateUser): CreateUserResult {
    if (this.find(email)) return { outcome: 'refused', reason: 'email-taken' }
    const now = this.#clock.now()
    const userId = newId('user', now)
    this.#statements.insert.run({
      id: userId,
      email: email.toLowerCase(),
      passwordHash,
      isAdmin: isAdmin ? 1 : 0,
      now,
    })
    this.#statements.insertAccount.run({ userId })
    return { outcome: 'created', userId }
  }

  find(email: string): UserRecord | undefined {
    const candidate = this.findCandidate(email)
    if (!candidate) return undefined
    const { passwordHash: _hash, ...user } = candidate
    return user
  }

  /** With what a login is checked against. */
  findCandidate(email: string): (UserRecord & LoginCandidate) | undefined {
    const row = this.#statements.byEmail.get({ email: email.toLowerCase() })
    return row && { ...row, isAdmin: row.isAdmin === 1 }
  }

  get(userId: string): (UserAccount & { passwordHash: string | null }) | undefined {
    const row = this.#statements.byId.get({ userId })
    return row && { ...row, isAdmin: row.isAdmin === 1 }
  }

  list({ limit, offset, search = '' }: ListUsers): { users: UserAccount[]; total: number } {
    const part = search.toLowerCase()
    const rows = this.#statements.list.all({ part, limit, offset })
    return {
      users: rows.map((row) => ({ ...row, isAdmin: row.isAdmin === 1 })),
      total: this.#statements.count.get({ part })!.total,
    }
  }

  update({ isAdmin, isSuspended, userId }: UpdateUser): UpdateUserResult {
    const user = this.get(userId)
    if (!user) return { outcome: 'refused', reason: 'unknown' }
    const wasActing = user.isAdmin && user.suspendedAt === null
    const staysAdmin = isAdmin ?? user.isAdmin
    const staysSuspended = isSuspended ?? user.suspendedAt !== null
    if (wasActing && (!staysAdmin || staysSuspended) && this.#statements.actingAdmins.get()!.total === 1) {
      return { outcome: 'refused', reason: 'last-admin' }
    }
    this.#statements.update.run({
      userId,
      isAdmin: staysAdmin ? 1 : 0,
      suspendedAt: staysSuspended ? (user.suspendedAt ?? this.#clock.now()) : null,
    })
    return { outcome: 'updated' }
  }

  /** False when the password is no longer the one that this takes the place of. */
  setPassword({ from, passwordHash, userId }: Omit<SetPassword, 'keepLoginId' | 'forget'>): boolean {
    return this.#statements.setPassword.run({ userId, passwordHash, from }).changes === 1
  }

  counts(): { users: number; suspended: number } {
    return this.#statements.counts.get()!
  }
}

function prepare({ orm }: Connection) {
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
    writtenOff: sql<number>`min(${sql.raw(String(Number.MAX_SAFE_INTEGER))}, coalesce((
      SELECT count FROM counters
      WHERE counters.user_id = ${users.id} AND kind = 'written-off' AND part = '' AND status = ''), 0))`,
  }
  const isFound = sql`(${sql.placeholder('part')} = '' OR instr(${users.email}, ${sql.placeholder('part')}) > 0)`
  const total = sql<number>`count(*)`
  return {
    insert: orm
      .insert(users)
      .values({
        id: sql.placeholder('id'),
        email: sql.placeholder('email'),
        passwordHash: sql.placeholder('passwordHash'),
        isAdmin: sql.placeholder('isAdmin'),
        createdAt: sql.placeholder('now'),
      })
      .prepare(),
    insertAccount: orm.insert(accounts).values({ userId, balance: 0, held: 0 }).prepare(),
    byEmail: orm
      .select({ ...user, passwordHash: users.passwordHash })
      .from(users)
      .where(eq(users.email, sql.placeholder('email')))
      .prepare(),
    byId: orm
      .select({ ...withAccount, passwordHash: users.passwordHash })
      .from(users)
      .innerJoin(accounts, eq(accounts.userId, users.id))
      .where(isThis)
      .prepare(),
    list: orm
      .select(withAccount)
      .from(users)
      .innerJoin(accounts, eq(accounts.userId, users.id))
      .where(isFound)
      .orderBy(sql`users.rowid`)
      .limit(sql.placeholder('limit'))
      .offset(sql.placeholder('offset'))
      .prepare(),
    count: orm.select({ total }).from(users).where(isFound).prepare(),
    counts: orm
      .select({ users: total, suspended: sql<number>`count(*) FILTER (WHERE ${users.suspendedAt} IS NOT NULL)` })
      .from(users)
      .prepare(),
    actingAdmins: orm
      .select({ total })
      .from(users)
      .where(and(eq(users.isAdmin, 1), sql`${users.suspendedAt} IS NULL`))
      .prepare(),
    update: orm
      .update(users)
      .set({ isAdmin: sql`${sql.placeholder('isAdmin')}`, suspendedAt: sql`${sql.placeholder('suspendedAt')}` })
      .where(isThis)
      .prepare(),
    setPassword: orm
      .update(users)
      .set({ passwordHash: sql`${sql.placeholder('passwordHash')}` })
      .where(and(isThis, sql`${users.passwordHash} IS ${sql.placeholder('from')}`))
      .prepare(),
  }
}
