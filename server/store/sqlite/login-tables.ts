import { invitationKinds, loginMethods } from '../records.ts'
import { sql, check, index, integer, primaryKey, sqliteTable, text } from './drizzle.ts'
import { users } from './schema.ts'

// How people come in, beside API keys. What schema.ts says of money and times is true here too.

/** Accounts of people at OpenID Connect providers: who logs in as which user. */
export const identities = sqliteTable(
  'identities',
  {
    issuer: text().notNull(),
    /** What the issuer calls the person, never reused and never changed, unlike an email address. */
    subject: text().notNull(),
    userId: text('user_id')
      .notNull()
      .references(() => users.id),
    createdAt: integer('created_at').notNull(),
  },
  (identity) => [
    primaryKey({ columns: [identity.issuer, identity.subject] }),
    index('identities_user').on(identity.userId),
  ],
)

/** Browser logins that have not ended; the cookie carries the token whose hash stands here. */
export const logins = sqliteTable(
  'logins',
  {
    id: text().primaryKey(),
    userId: text('user_id')
      .notNull()
      .references(() => users.id),
    tokenHash: text('token_hash').notNull().unique(),
    method: text({ enum: loginMethods }).notNull(),
    /** Id of the OpenID Connect provider. */
    provider: text(),
    userAgent: text('user_agent'),
    createdAt: integer('created_at').notNull(),
    lastUsedAt: integer('last_used_at').notNull(),
    /** It ends then, however much it is used. */
    expiresAt: integer('expires_at').notNull(),
  },
  (login) => [index('logins_user').on(login.userId, login.createdAt), index('logins_expires').on(login.expiresAt)],
)

/** Tries to log in with a password that have not succeeded, for as long as they count. */
export const loginAttempts = sqliteTable(
  'login_attempts',
  {
    seq: integer().primaryKey(),
    /** SHA-256 of what was typed, in lower case: people type their password into the wrong field. */
    emailHash: text('email_hash').notNull(),
    client: text().notNull(),
    at: integer().notNull(),
  },
  (attempt) => [
    index('login_attempts_email').on(attempt.emailHash, attempt.at),
    index('login_attempts_client').on(attempt.client, attempt.at),
    index('login_attempts_at').on(attempt.at),
  ],
)

/** Links by which an admin lets a person make an account, or a user set a new password. */
export const invitations = sqliteTable(
  'invitations',
  {
    id: text().primaryKey(),
    tokenHash: text('token_hash').notNull().unique(),
    kind: text({ enum: invitationKinds }).notNull(),
    email: text().notNull(),
    /** Who the link sets a password for; the new user, once an invitation was accepted. */
    userId: text('user_id'),
    isAdmin: integer('is_admin').notNull(),
    /** What the new account is credited with. */
    credit: integer().notNull(),
    createdBy: text('created_by').notNull(),
    createdAt: integer('created_at').notNull(),
    expiresAt: integer('expires_at').notNull(),
    acceptedAt: integer('accepted_at'),
  },
  (invitation) => [
    index('invitations_created').on(invitation.createdAt),
    check('credit_not_negative', sql`${invitation.credit} >= 0`),
    check('password_of_a_user', sql`${invitation.kind} = 'invitation' OR ${invitation.userId} IS NOT NULL`),
  ],
)
