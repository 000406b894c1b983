import { actorKinds, auditActions } from '../audit/audit-types.ts'
import type { Users } from './account-tables.ts'
import type { TableWords } from './table-words.ts'

export function peopleTables(
  { bySeq, check, index, madeInOrder, number, primaryKey, seq, sql, table, text, uniqueIndex }: TableWords,
  users: Users,
) {
  const userId = () =>
    text('user_id')
      .notNull()
      .references(() => users.id)

  /** Accounts at OpenID Connect providers, each linked to a user. */
  const identities = table(
    'identities',
    {
      issuer: text().notNull(),
      /** The person's id at the provider. Unlike an email address, it never changes and is never reused. */
      subject: text().notNull(),
      userId: userId(),
      createdAt: number('created_at').notNull(),
    },
    (identity) => [
      primaryKey({ columns: [identity.issuer, identity.subject] }),
      index('identities_user').on(identity.userId),
    ],
  )

  /** Active browser logins. The cookie contains the token, and this table only its hash. */
  const logins = table(
    'logins',
    {
      ...madeInOrder(),
      id: text().primaryKey(),
      userId: userId(),
      tokenHash: text('token_hash').notNull().unique(),
      method: text().notNull(),
      provider: text(),
      userAgent: text('user_agent'),
      createdAt: number('created_at').notNull(),
      lastUsedAt: number('last_used_at').notNull(),
      expiresAt: number('expires_at').notNull(),
    },
    (login) => [index('logins_user').on(login.userId, login.createdAt), index('logins_expires').on(login.expiresAt)],
  )

  /**
   * Password login attempts, stored as long as they count toward a limit. A successful login deletes the attempts for
   * its email address and client.
   */
  const loginAttempts = table(
    'login_attempts',
    {
      seq: seq(),
      /**
       * SHA-256 of the entered email address in lower case. The input is not stored, because people sometimes type
       * their password into this field.
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

  /** Single-use links: invitations and sign-up links create an account, and password links set a password. */
  const invitations = table(
    'invitations',
    {
      ...madeInOrder(),
      id: text().primaryKey(),
      tokenHash: text('token_hash').notNull().unique(),
      kind: text().notNull(),
      email: text().notNull(),
      /**
       * The user whose password the link sets, or the user that an accepted link created. Null if there is none yet.
       */
      userId: text('user_id'),
      isAdmin: number('is_admin').notNull(),
      credit: number().notNull(),
      /** The admin who created the link, or the user who requested it. Null for a sign-up link. */
      createdBy: text('created_by'),
      createdAt: number('created_at').notNull(),
      expiresAt: number('expires_at').notNull(),
      acceptedAt: number('accepted_at'),
    },
    (invitation) => [
      index('invitations_created').on(invitation.createdAt),
      index('invitations_email').on(invitation.email),
      check('credit_not_negative', sql`${invitation.credit} >= 0`),
      check('password_of_a_user', sql`${invitation.kind} <> 'password' OR ${invitation.userId} IS NOT NULL`),
    ],
  )

  /**
   * Identities that received the trial credit. Rows outlive their accounts, because an erased user must not get the
   * credit again.
   */
  const trialCredits = table('trial_credits', {
    /** SHA-256 of the lower-case email address without its tag, or of the issuer and subject at a provider. */
    identityHash: text('identity_hash').primaryKey(),
    createdAt: number('created_at').notNull(),
  })

  /**
   * Keys for products that are built on the service. A product manages users, credit and limits, and acts on behalf of
   * users.
   */
  const platformKeys = table('platform_keys', {
    ...madeInOrder(),
    id: text().primaryKey(),
    name: text().notNull(),
    tokenHash: text('token_hash').notNull().unique(),
    hint: text().notNull(),
    scopes: text().notNull(),
    addresses: text(),
    creditPerDay: number('credit_per_day'),
    /**
     * Last UTC day on which the key changed a balance, in days since the epoch. `credited` and `taken` are that day's
     * amounts.
     */
    creditDay: number('credit_day').notNull().default(0),
    credited: number().notNull().default(0),
    taken: number().notNull().default(0),
    usersMade: number('users_made').notNull().default(0),
    createdBy: text('created_by'),
    createdAt: number('created_at').notNull(),
    expiresAt: number('expires_at'),
    revokedAt: number('revoked_at'),
    lastUsedAt: number('last_used_at'),
    /** JSON list of the last client addresses with their times, newest first. */
    lastAddresses: text('last_addresses'),
  })

  /** Tokens for browsers, valid for at most an hour. */
  const clientTokens = table(
    'client_tokens',
    {
      ...madeInOrder(),
      id: text().primaryKey(),
      userId: userId(),
      tokenHash: text('token_hash').notNull().unique(),
      scopes: text().notNull(),
      /** JSON array of agent ids, or null for all agents. */
      agents: text(),
      /** The session or task that the token is bound to. Both are null if it is not bound. */
      sessionId: text('session_id'),
      taskId: text('task_id'),
      maxCost: number('max_cost'),
      isOnce: number('is_once').notNull(),
      usedAt: number('used_at'),
      /**
       * Id of the key, login or platform key that created the token. The token becomes invalid when that credential
       * does.
       */
      createdBy: text('created_by').notNull(),
      createdAt: number('created_at').notNull(),
      expiresAt: number('expires_at').notNull(),
      revokedAt: number('revoked_at'),
    },
    (token) => [
      index('client_tokens_live').on(token.userId, token.revokedAt, token.expiresAt),
      index('client_tokens_expires').on(token.expiresAt),
      index('client_tokens_creator').on(token.createdBy, token.expiresAt),
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
      /** Id of a server in the operator's configuration, or null for a connector with its own URL. */
      server: text(),
      authType: text('auth_type').notNull(),
      /** Encrypted secrets. The store never receives them unencrypted. */
      sealed: text(),
      /** JSON array of tool names, or null for all tools. */
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

  /** Access that a connector's server granted when the user signed in. */
  const connectorGrants = table('connector_grants', {
    connectorId: text('connector_id').primaryKey(),
    userId: userId(),
    /** URL of the authorization server, the only server that receives the refresh token. */
    issuer: text().notNull(),
    sealed: text().notNull(),
    expiresAt: number('expires_at'),
    /**
     * End of a node's claim to exchange the refresh token, which can be used only once. Other nodes wait until then.
     */
    refreshUntil: number('refresh_until'),
    /**
     * Version of the tokens. Updates check it, so if two nodes exchange a refresh token simultaneously, only one result
     * is stored.
     */
    version: number().notNull(),
    updatedAt: number('updated_at').notNull(),
  })

  const connectorSignIns = table(
    'connector_sign_ins',
    {
      /** Hash of the OAuth `state` parameter. */
      stateHash: text('state_hash').primaryKey(),
      connectorId: text('connector_id').notNull(),
      userId: userId(),
      /** Encrypted data of the sign-in: issuer, client and verifier. */
      sealed: text().notNull(),
      createdAt: number('created_at').notNull(),
      expiresAt: number('expires_at').notNull(),
    },
    (signIn) => [
      index('connector_sign_ins_connector').on(signIn.connectorId),
      index('connector_sign_ins_expiry').on(signIn.expiresAt),
    ],
  )

  /** Audit log of changes to accounts and access. Rows are never changed or deleted. */
  const auditLog = table(
    'audit_log',
    {
      seq: seq(),
      action: text({ enum: auditActions }).notNull(),
      actor: text({ enum: actorKinds }).notNull(),
      actorId: text('actor_id'),
      client: text(),
      /** The user that the row is about. Has no foreign key, because the row must never change. */
      userId: text('user_id'),
      change: text().notNull(),
      createdAt: number('created_at').notNull(),
      /** Hex SHA-256 of the previous row's hash and the other columns of this row. */
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
    trialCredits,
    platformKeys,
    clientTokens,
    connectors,
  }
}
