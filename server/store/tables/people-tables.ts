import type { Users } from './account-tables.ts'
import type { TableWords } from './table-words.ts'

/** How people come in, beside API keys, and what they connect. */
export function peopleTables(
  { check, index, madeInOrder, number, primaryKey, seq, sql, table, text, uniqueIndex }: TableWords,
  users: Users,
) {
  const userId = () =>
    text('user_id')
      .notNull()
      .references(() => users.id)

  /** Accounts of people at OpenID Connect providers: who logs in as which user. */
  const identities = table(
    'identities',
    {
      issuer: text().notNull(),
      /** What the issuer calls the person, never reused and never changed, unlike an email address. */
      subject: text().notNull(),
      userId: userId(),
      createdAt: number('created_at').notNull(),
    },
    (identity) => [
      primaryKey({ columns: [identity.issuer, identity.subject] }),
      index('identities_user').on(identity.userId),
    ],
  )

  /** Browser logins that have not ended; the cookie carries the token whose hash stands here. */
  const logins = table(
    'logins',
    {
      ...madeInOrder(),
      id: text().primaryKey(),
      userId: userId(),
      tokenHash: text('token_hash').notNull().unique(),
      method: text().notNull(),
      /** Id of the OpenID Connect provider. */
      provider: text(),
      userAgent: text('user_agent'),
      createdAt: number('created_at').notNull(),
      lastUsedAt: number('last_used_at').notNull(),
      /** It ends then, however much it is used. */
      expiresAt: number('expires_at').notNull(),
    },
    (login) => [index('logins_user').on(login.userId, login.createdAt), index('logins_expires').on(login.expiresAt)],
  )

  /** Tries to log in with a password that have not succeeded, for as long as they count. */
  const loginAttempts = table(
    'login_attempts',
    {
      seq: seq(),
      /** SHA-256 of what was typed, in lower case: people type their password into the wrong field. */
      emailHash: text('email_hash').notNull(),
      client: text().notNull(),
      at: number().notNull(),
    },
    (attempt) => [
      index('login_attempts_email').on(attempt.emailHash, attempt.at),
      index('login_attempts_client').on(attempt.client, attempt.at),
      index('login_attempts_at').on(attempt.at),
    ],
  )

  /** Links by which an admin lets a person make an account, or a user set a new password. */
  const invitations = table(
    'invitations',
    {
      ...madeInOrder(),
      id: text().primaryKey(),
      tokenHash: text('token_hash').notNull().unique(),
      kind: text().notNull(),
      email: text().notNull(),
      /** Who the link sets a password for; the new user, once an invitation was accepted. */
      userId: text('user_id'),
      isAdmin: number('is_admin').notNull(),
      /** What the new account is credited with. */
      credit: number().notNull(),
      createdBy: text('created_by').notNull(),
      createdAt: number('created_at').notNull(),
      expiresAt: number('expires_at').notNull(),
      acceptedAt: number('accepted_at'),
    },
    (invitation) => [
      index('invitations_created').on(invitation.createdAt),
      check('credit_not_negative', sql`${invitation.credit} >= 0`),
      check('password_of_a_user', sql`${invitation.kind} = 'invitation' OR ${invitation.userId} IS NOT NULL`),
    ],
  )

  /** Keys of products that are built on the service: they reach users, credit and limits, and act for users. */
  const platformKeys = table('platform_keys', {
    ...madeInOrder(),
    id: text().primaryKey(),
    name: text().notNull(),
    tokenHash: text('token_hash').notNull().unique(),
    hint: text().notNull(),
    scopes: text().notNull(),
    /** JSON array of addresses and networks that it is accepted from; null for all. */
    addresses: text(),
    /** Ceiling of what it credits on a day of UTC, and of what it takes back; null without one. */
    creditPerDay: number('credit_per_day'),
    /** Last day on which it changed a balance, in whole days of UTC since the epoch; `credited` and `taken` are that day's. */
    creditDay: number('credit_day').notNull().default(0),
    credited: number().notNull().default(0),
    taken: number().notNull().default(0),
    usersMade: number('users_made').notNull().default(0),
    /** Id of the admin; null for the command line. */
    createdBy: text('created_by'),
    createdAt: number('created_at').notNull(),
    expiresAt: number('expires_at'),
    revokedAt: number('revoked_at'),
    lastUsedAt: number('last_used_at'),
  })

  /** Tokens for browsers, of an hour at most. */
  const clientTokens = table(
    'client_tokens',
    {
      ...madeInOrder(),
      id: text().primaryKey(),
      userId: userId(),
      tokenHash: text('token_hash').notNull().unique(),
      scopes: text().notNull(),
      /** JSON array of ids; null for all agents. */
      agents: text(),
      /** The one session, or the one task, that it reaches; null for all of the user's. */
      sessionId: text('session_id'),
      taskId: text('task_id'),
      /** What may be spent with it. */
      maxCost: number('max_cost'),
      /** 1 when it admits one execution. */
      isOnce: number('is_once').notNull(),
      usedAt: number('used_at'),
      /** Id of the key, login or platform key that made it, with whose end it ends. */
      createdBy: text('created_by').notNull(),
      createdAt: number('created_at').notNull(),
      expiresAt: number('expires_at').notNull(),
      revokedAt: number('revoked_at'),
    },
    (token) => [
      index('client_tokens_live').on(token.userId, token.revokedAt, token.expiresAt),
      index('client_tokens_expires').on(token.expiresAt),
    ],
  )

  /** Users' connections to MCP servers. */
  const connectors = table(
    'connectors',
    {
      ...madeInOrder(),
      id: text().primaryKey(),
      userId: userId(),
      name: text().notNull(),
      url: text(),
      /** Id of a server that the operator defines. */
      server: text(),
      authType: text('auth_type').notNull(),
      /** Encrypted outside the store, which never sees a secret. */
      sealed: text(),
      /** JSON array of names; null allows all tools. */
      allowedTools: text('allowed_tools'),
      status: text().notNull(),
      statusMessage: text('status_message'),
      checkedAt: number('checked_at'),
      createdAt: number('created_at').notNull(),
      updatedAt: number('updated_at').notNull(),
    },
    (connector) => [
      uniqueIndex('connectors_user_name').on(connector.userId, connector.name),
      index('connectors_user').on(connector.userId, connector.createdAt),
      check('one_target', sql`(${connector.url} IS NULL) <> (${connector.server} IS NULL)`),
      check('secrets_with_auth', sql`(${connector.authType} = 'none') = (${connector.sealed} IS NULL)`),
    ],
  )

  /** What a connector's server lets its owner do, after a sign-in there. */
  const connectorGrants = table('connector_grants', {
    connectorId: text('connector_id').primaryKey(),
    userId: userId(),
    /** Of the authorization server, which alone the tokens are shown to. */
    issuer: text().notNull(),
    /** Tokens and client, encrypted outside the store. */
    sealed: text().notNull(),
    /** Of the access token; null where the server does not say. */
    expiresAt: number('expires_at'),
    /** While one node exchanges the refresh token, which may be used once, the others wait. */
    refreshUntil: number('refresh_until'),
    /** Counts the tokens, so that only one exchange of each is kept. */
    version: number().notNull(),
    updatedAt: number('updated_at').notNull(),
  })

  /** Sign-ins at connectors' servers that are under way. */
  const connectorSignIns = table(
    'connector_sign_ins',
    {
      /** A hash of the state that comes back with the browser. */
      stateHash: text('state_hash').primaryKey(),
      connectorId: text('connector_id').notNull(),
      userId: userId(),
      /** What it was begun with (issuer, client, verifier), encrypted outside the store. */
      sealed: text().notNull(),
      createdAt: number('created_at').notNull(),
      expiresAt: number('expires_at').notNull(),
    },
    (signIn) => [
      index('connector_sign_ins_connector').on(signIn.connectorId),
      index('connector_sign_ins_expiry').on(signIn.expiresAt),
    ],
  )

  return {
    connectorGrants,
    connectorSignIns,
    identities,
    logins,
    loginAttempts,
    invitations,
    platformKeys,
    clientTokens,
    connectors,
  }
}
