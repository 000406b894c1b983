import { invitationKinds, loginMethods } from '../records.ts'
import { madeInOrder } from './columns.ts'
import { sql, check, index, bigint, primaryKey, pgTable, text } from './drizzle.ts'
import { users } from './schema.ts'

// How people come in, beside API keys. What schema.ts says of money and times is true here too.

/** Accounts of people at OpenID Connect providers: who logs in as which user. */
export const identities = pgTable(
  'identities',
  {
    issuer: text().notNull(),
    /** What the issuer calls the person, never reused and never changed, unlike an email address. */
    subject: text().notNull(),
    userId: text('user_id')
      .notNull()
      .references(() => users.id),
    createdAt: bigint('created_at', { mode: 'number' }).notNull(),
  },
  (identity) => [
    primaryKey({ columns: [identity.issuer, identity.subject] }),
    index('identities_user').on(identity.userId),
  ],
)

/** Browser logins that have not ended; the cookie carries the token whose hash stands here. */
export const logins = pgTable(
  'logins',
  {
    seq: madeInOrder(),
    id: text().primaryKey(),
    userId: text('user_id')
      .notNull()
      .references(() => users.id),
    tokenHash: text('token_hash').notNull().unique(),
    method: text({ enum: loginMethods }).notNull(),
    /** Id of the OpenID Connect provider. */
    provider: text(),
    userAgent: text('user_agent'),
    createdAt: bigint('created_at', { mode: 'number' }).notNull(),
    lastUsedAt: bigint('last_used_at', { mode: 'number' }).notNull(),
    /** It ends then, however much it is used. */
    expiresAt: bigint('expires_at', { mode: 'number' }).notNull(),
  },
  (login) => [index('logins_user').on(login.userId, login.createdAt), index('logins_expires').on(login.expiresAt)],
)

/** Tries to log in with a password that have not succeeded, for as long as they count. */
export const loginAttempts = pgTable(
  'login_attempts',
  {
    seq: bigint({ mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    /** SHA-256 of what was typed, in lower case: people type their password into the wrong field. */
    emailHash: text('email_hash').notNull(),
    client: text().notNull(),
    at: bigint({ mode: 'number' }).notNull(),
  },
  (attempt) => [
    index('login_attempts_email').on(attempt.emailHash, attempt.at),
    index('login_attempts_client').on(attempt.client, attempt.at),
    index('login_attempts_at').on(attempt.at),
  ],
)

/** Links by which an admin lets a person make an account, or a user set a new password. */
export const invitations = pgTable(
  'invitations',
  {
    seq: madeInOrder(),
    id: text().primaryKey(),
    tokenHash: text('token_hash').notNull().unique(),
    kind: text({ enum: invitationKinds }).notNull(),
    email: text().notNull(),
    /** Who the link sets a password for; the new user, once an invitation was accepted. */
    userId: text('user_id'),
    isAdmin: bigint('is_admin', { mode: 'number' }).notNull(),
    /** What the new account is credited with. */
    credit: bigint({ mode: 'number' }).notNull(),
    createdBy: text('created_by').notNull(),
    createdAt: bigint('created_at', { mode: 'number' }).notNull(),
    expiresAt: bigint('expires_at', { mode: 'number' }).notNull(),
    acceptedAt: bigint('accepted_at', { mode: 'number' }),
  },
  (invitation) => [
    index('invitations_created').on(invitation.createdAt),
    check('credit_not_negative', sql`${invitation.credit} >= 0`),
    check('password_of_a_user', sql`${invitation.kind} = 'invitation' OR ${invitation.userId} IS NOT NULL`),
  ],
)
