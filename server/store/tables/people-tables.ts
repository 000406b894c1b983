import { actorKinds, auditActions } from '../audit/audit-types.ts'
import type { Users } from './account-tables.ts'
import type { TableWords } from './table-words.ts'

/** Identities, logins, invitations, credentials other than API keys, and connectors. */
export function peopleTables(
  { bySeq, check, index, madeInOrder, number, primaryKey, seq, sql, table, text, uniqueIndex }: TableWords,
  users: Users,
) {
  const userId = () =>
    text('user_id')
      .notNull()
      .references(() => users.id)

  /** People's accounts at OpenID Connect providers, each linked to a user. */
  const identities = table(
    'identities',
    {
      issuer: text().notNull(),
      /** The issuer's id for the person. Unlike an email address, it never changes and is never reused. */
      subject: text().notNull(),
      userId: userId(),
      createdAt: number('created_at').notNull(),
    },
    (identity) => [
      primaryKey({ columns: [identity.issuer, identity.subject] }),
      index('identities_user').on(identity.userId),
    ],
  )

  /** Browser logins that have not ended. The cookie contains the token, the table only its hash. */
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
      /** When the login ends, even if it is in use. */
      expiresAt: number('expires_at').notNull(),
    },
    (login) => [index('logins_user').on(login.userId, login.createdAt), index('logins_expires').on(login.expiresAt)],
  )

  /**
   * Password login attempts, stored while they count toward a limit. A successful login deletes the attempts for its
   * email and client.
   */
  const loginAttempts = table(
    'login_attempts',
    {
      seq: seq(),
      /**
       * SHA-256 of the entered email in lower case. The input itself is not stored, because people sometimes type their
       * password into this field.
       */
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

  /** Admin-created links: invitations to create an account, and password links for existing users. */
  const invitations = table(
    'invitations',
    {
      ...madeInOrder(),
      id: text().primaryKey(),
      tokenHash: text('token_hash').notNull().unique(),
      kind: text().notNull(),
      email: text().notNull(),
      /** The user whose password the link sets, or whom an accepted invitation created; null for an open invitation. */
      userId: text('user_id'),
      isAdmin: number('is_admin').notNull(),
      /** Starting credit of the new account. */
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

  /** Keys for products built on the service. They manage users, credit and limits, and act on behalf of users. */
  const platformKeys = table('platform_keys', {
    ...madeInOrder(),
    id: text().primaryKey(),
    name: text().notNull(),
    tokenHash: text('token_hash').notNull().unique(),
    hint: text().notNull(),
    scopes: text().notNull(),
    /** JSON array of addresses and networks from which the key is accepted; null for all. */
    addresses: text(),
    /**
     * Max amount that the key credits per UTC day, and max amount that it takes back per UTC day; null without a
     * ceiling.
     */
    creditPerDay: number('credit_per_day'),
    /**
     * Last day on which the key changed a balance, in whole UTC days since the epoch. `credited` and `taken` are for
     * that day.
     */
    creditDay: number('credit_day').notNull().default(0),
    credited: number().notNull().default(0),
    taken: number().notNull().default(0),
    usersMade: number('users_made').notNull().default(0),
    /** Id of the admin who created the key; null for the command line. */
    createdBy: text('created_by'),
    createdAt: number('created_at').notNull(),
    expiresAt: number('expires_at'),
    revokedAt: number('revoked_at'),
    lastUsedAt: number('last_used_at'),
  })

  /** Tokens for browsers, valid for an hour at most. */
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
      /** The only session or task that the token has access to; null for all of the user's. */
      sessionId: text('session_id'),
      taskId: text('task_id'),
      maxCost: number('max_cost'),
      /** 1 if the token admits only one execution. */
      isOnce: number('is_once').notNull(),
      usedAt: number('used_at'),
      /** Id of the key, login or platform key that created the token. The token becomes invalid when its creator does. */
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

  const connectors = table(
    'connectors',
    {
      ...madeInOrder(),
      id: text().primaryKey(),
      userId: userId(),
      name: text().notNull(),
      url: text(),
      /** Id of a server that the operator configured; null for a connector with its own URL. */
      server: text(),
      authType: text('auth_type').notNull(),
      /** Encrypted outside the store, which never sees a plain secret. */
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

  /** Access that a connector's server granted when the connector's owner signed in. */
  const connectorGrants = table('connector_grants', {
    connectorId: text('connector_id').primaryKey(),
    userId: userId(),
    /** URL of the authorization server. The refresh token is sent only to this server. */
    issuer: text().notNull(),
    /** Tokens and OAuth client, encrypted outside the store. */
    sealed: text().notNull(),
    /** Expiry of the access token; null if the server does not specify one. */
    expiresAt: number('expires_at'),
    /**
     * End of the claim of a node that is exchanging the refresh token, which works only once. Other nodes wait until
     * then.
     */
    refreshUntil: number('refresh_until'),
    /** Version of the tokens. If two nodes exchange a refresh token simultaneously, only one result is stored. */
    version: number().notNull(),
    updatedAt: number('updated_at').notNull(),
  })

  /** Pending sign-ins at connectors' servers. */
  const connectorSignIns = table(
    'connector_sign_ins',
    {
      /** Hash of the OAuth `state` with which the browser returns. */
      stateHash: text('state_hash').primaryKey(),
      connectorId: text('connector_id').notNull(),
      userId: userId(),
      /** Data of the sign-in (issuer, client, verifier), encrypted outside the store. */
      sealed: text().notNull(),
      createdAt: number('created_at').notNull(),
      expiresAt: number('expires_at').notNull(),
    },
    (signIn) => [
      index('connector_sign_ins_connector').on(signIn.connectorId),
      index('connector_sign_ins_expiry').on(signIn.expiresAt),
    ],
  )

  /** The audit log: acts about accounts and access. Rows are never changed or deleted. */
  const auditLog = table(
    'audit_log',
    {
      seq: seq(),
      action: text({ enum: auditActions }).notNull(),
      actor: text({ enum: actorKinds }).notNull(),
      actorId: text('actor_id'),
      client: text(),
      /** The user whom the act is about. No foreign key: the row is never changed. */
      userId: text('user_id'),
      change: text().notNull(),
      createdAt: number('created_at').notNull(),
      /** SHA-256 in hex of the previous row's hash and this row's other columns. */
      hash: text().notNull(),
    },
    (act) => [
      index('audit_log_user').on(act.userId, ...bySeq(act)),
      index('audit_log_action').on(act.action, ...bySeq(act)),
      index('audit_log_user_action').on(act.userId, act.action, ...bySeq(act)),
    ],
  )

  return {
    auditLog,
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
