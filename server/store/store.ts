import type { AuditStore } from './audit/audit-types.ts'
import type { BookStore } from './books/book-reads.ts'
import type { KeyRecord, KeyHolder } from './access/key-types.ts'
import type { ConnectorStatus, ConnectorOf, ConnectorRecord } from './connectors/connector-types.ts'
import type {
  TransactionType,
  TransactionRecord,
  ReadSpend,
  UserRecord,
  SpendPage,
  AccountRecord,
  Owner,
} from './accounts/account-types.ts'
import type { EpochMs } from '../kernel/clock.ts'
import type { Units } from '../kernel/money.ts'
import type {
  AcceptInvitationResult,
  AdmitLogin,
  AdmitLoginResult,
  CreateInvitation,
  CreateInvitationResult,
  CreateLogin,
  CreateUser,
  CreateUserResult,
  ListUsers,
  OpenIdentity,
  OpenIdentityResult,
  SetPassword,
  UpdateUser,
  UpdateUserResult,
  UserAccount,
  LoginHolder,
  InvitationRecord,
  LoginRecord,
} from './access/people-types.ts'
import type {
  CreateSession,
  CreateSessionResult,
  DeleteSessionResult,
  GrowHold,
  GrowHoldResult,
  History,
  ListSessions,
  OpenTurn,
  OpenTurnResult,
  SessionOf,
  SettledTurn,
  SettleTurn,
  UpdateSession,
  UpdateSessionResult,
  ReadHistory,
  MessageRecord,
  SessionListItem,
  SessionRecord,
} from './sessions/session-types.ts'
import type {
  AdmitTask,
  AdmitTaskResult,
  CancelTask,
  CancelTaskResult,
  ClaimTaskResult,
  CompleteTask,
  FailTask,
  Interruption,
  LimitRefusal,
  ListTasks,
  ProgressNote,
  Taken,
  Taking,
  UsedKey,
  TaskListItem,
  TaskRecord,
  PayloadRecord,
  AttemptRef,
  TaskFailure,
  OwnedPayload,
} from './tasks/task-types.ts'
import type { CredentialLimits, SpendLimit, SpendState } from './limits/execution-limits.ts'
import type { Plans, Retention } from './limits/account-limits.ts'
import type { ChangeAccountLimits, KeyLimits, LimitsState, RateOf, UpdateKey, RateState } from './limits/limit-types.ts'
import type { PaymentStore } from './payments/payment-types.ts'
import type { Listed, ListRange, Page, BoundedPage } from './list-place.ts'
import type { ConnectorGrantStore } from './connectors/grant-types.ts'
import type { PlatformStore } from './platform/platform-types.ts'
import type { LedgerReport } from './ledger/ledger-report.ts'
import type { PostedTotals } from './ledger/posted-totals.ts'
import type { SharedSettings, SharedStore } from './shared.ts'
import type { TurnEventStore } from './sessions/turn-types.ts'
import type { WireRequestStore } from './requests/wire-request-types.ts'
import type { MailStore } from './mails/mail-port.ts'
import type { WebhookStore } from './events/webhook-types.ts'

// The store port. Each method is one atomic business command or one read. A command's promise resolves only when its
// outcome is durable, even if that outcome is a rejection. Expected rejections are values. Only faults throw.
// SERVICE_UNAVAILABLE means that the outcome of a write is unknown, or that the disk rejected the write. If the disk
// rejected it, nothing was charged.

/** Limits enforced by the store's own transactions; 0 disables a count. */
export type StoreLimits = {
  executionsPerMinute: number
  abuseFailures: number
  abuseWindowSeconds: number
  abuseBlockSeconds: number
  abuseBlockMaxSeconds: number
  maxWrittenOffUsdPerDay: number
  payloadBytesPerDay: number
  connectorBlockSeconds: number
  connectorTasksAtWork: number
  sessionIdleSeconds: number
  /** Time without renewal after which a node loses its tasks and turns, if several nodes share the store. */
  leaseSeconds: number
  plans?: Plans
  retention?: Retention
}

/** Max balance: 100 billion USD, so far below the largest safe integer that no refund can exceed that. */
export const balanceMax = 1_000_000_000_000_000

export type ListTransactions = Page &
  ListRange & {
    userId: string
    type?: TransactionType
    taskId?: string
    sessionId?: string
    turnId?: string
  }

export type Credit = {
  userId: string
  amount: Units
  description: string
  idempotencyKey: string | null
  /**
   * Set if a platform key makes this change. Then the key's ceiling applies, only platform credit can be taken back,
   * and an admin is treated as an unknown user.
   */
  platformKeyId?: string
}
export type CreditResult =
  | { outcome: 'credited' | 'replayed'; transactionId: string; balance: Units }
  | { outcome: 'refused'; reason: 'unknown-user' | 'idempotency-conflict' | 'balance' | 'ceiling' }
  | { outcome: 'refused'; reason: 'not-credited'; platformCredited: Units }

/** Work in progress, number of users, and size of the store, for the operator. */
export type StoreState = {
  pendingTasks: number
  processingTasks: number
  openTurns: number
  users: number
  suspendedUsers: number
  databaseBytes: number
  walBytes: number
  isWritable: boolean
  /** Transactions committed by this process since it started. */
  posted: PostedTotals
}

export type CreateKey = Pick<KeyRecord, 'userId' | 'name' | 'hint' | 'scopes' | 'expiresAt'> &
  Partial<KeyLimits> & { tokenHash: string }

export type CreateConnector = ConnectorOf &
  Pick<ConnectorRecord, 'name' | 'url' | 'server' | 'authType' | 'sealed' | 'allowedTools'>

export type CreateConnectorResult =
  | { outcome: 'created'; connector: ConnectorRecord }
  | { outcome: 'refused'; reason: 'name-taken' | 'too-many' }

/** Undefined fields stay unchanged. Changing secrets or URL deletes the grant and requires a new check or sign-in. */
export type UpdateConnector = ConnectorOf & {
  /** The `updatedAt` that the caller read. The update is rejected if the connector has changed since. */
  ifUpdatedAt?: EpochMs
  changes: Partial<Pick<ConnectorRecord, 'name' | 'url' | 'authType' | 'sealed' | 'allowedTools'>>
}

export type UpdateConnectorResult =
  | { outcome: 'updated'; connector: ConnectorRecord }
  | { outcome: 'refused'; reason: 'unknown' | 'name-taken' | 'changed' }

export type ConnectorCheck = ConnectorOf & {
  /** `updatedAt` of the connector when it was checked. */
  updatedAt: EpochMs
  status: ConnectorStatus
  statusMessage: string | null
}

export type Store = {
  /** Undefined if one process owns the store. */
  readonly shared?: SharedStore
  /** Settings. CLI commands that run next to the servers can use them too. */
  readonly settings: SharedSettings
  readonly webhooks: WebhookStore
  readonly mails: MailStore
  /** Platform keys, the users of products built on the service, and client tokens for browsers. */
  readonly platform: PlatformStore
  /** Users' payments, and amounts that the payment provider took back. */
  readonly payments: PaymentStore
  /** Events of turns, for clients that join late or on another node. */
  readonly turnEvents: TurnEventStore
  readonly books: BookStore
  readonly audit: AuditStore

  // Tasks
  /** Checks idempotency, quote, blocks, rate and balance. Writes charge, ledger, task and key rows atomically. */
  admitTask(input: AdmitTask): Promise<AdmitTaskResult>
  /** Returns what `admitTask` would return, without writing anything. Undefined if it would accept the task. */
  foreseeAdmission(
    input: Omit<AdmitTask, 'request'>,
  ): Promise<Exclude<AdmitTaskResult, { outcome: 'accepted' }> | undefined>
  /** Returns the rejection that an execution would get from limits other than rates. Writes nothing. */
  foreseeLimits(input: {
    userId: string
    agentId: string
    required: Units
    limits?: CredentialLimits | null
    /** Bytes of the payloads that the execution would store, or a lower bound if the size is not known yet. */
    payloadBytes?: number
  }): Promise<LimitRefusal | undefined>
  /**
   * Moves a queued task to processing under a new attempt, within its user's limit of running tasks. Fails and refunds
   * a pending task whose connectors are blocked.
   */
  claimTask(taskId: string): Promise<ClaimTaskResult>
  /** Completes a task and atomically refunds a metered task's unused charge. Returns false for a stale attempt. */
  completeTask(input: CompleteTask): Promise<boolean>
  /** Fails and refunds the task. With `countsAsAbuse`, counts it toward the abuse block. False for a stale attempt. */
  failTask(input: FailTask): Promise<boolean>
  /**
   * Makes a task uncancelable because its attempt is about to call a connector or has charged an event. Returns false
   * if the attempt is stale; then the call must not be sent and the event does not count.
   */
  forbidCancel(input: AttemptRef): Promise<boolean>
  /** Saves progress reports. Ignores attempts that are no longer running. */
  noteProgress(notes: readonly ProgressNote[]): Promise<void>
  /** Cancels and refunds a cancelable open task. Counts it toward the abuse block if an agent was running it. */
  cancelTask(input: CancelTask): Promise<CancelTaskResult>
  /** Ids of queued tasks that were not started in time. */
  expiringTasks(limit: number): Promise<string[]>
  /** Fails and refunds an expired task. Returns false if the task has already started or ended. */
  expireTask(input: { taskId: string; error: TaskFailure }): Promise<boolean>
  /** Queues the task again if it has attempts left, otherwise fails and refunds it. */
  interruptTask(input: Interruption): Promise<'requeued' | 'failed' | 'stale'>
  /**
   * Returns the next tasks to claim: round-robin over users, starting after `after`, each user's oldest first. Skips
   * the users in `passOver`. If nodes share the store, no other node gets these tasks before their lease expires.
   */
  takeTasks(input: Taking): Promise<Taken>
  /**
   * Returns running tasks whose process has died. If one process owns the store, these are all running tasks, queried
   * once at startup. Otherwise they are the running tasks with an expired lease.
   */
  abandonedTasks(limit: number): Promise<{ id: string; endpointId: string; attempt: number }[]>
  getTask(input: { userId: string; taskId: string }): Promise<TaskRecord | undefined>
  listTasks(input: ListTasks): Promise<{ tasks: TaskListItem[] } & Listed>
  findIdempotent(of: { userId: string; operation: string; key: string }): Promise<UsedKey | undefined>
  requests: WireRequestStore
  readRate(of: RateOf): Promise<RateState>
  /** A user's limits and the usage of each. Undefined for an unknown user. */
  readLimits(userId: string): Promise<LimitsState | undefined>
  /** Changes a user's plan and limits. Running work continues within the new limits. False for an unknown user. */
  changeAccountLimits(input: ChangeAccountLimits): Promise<boolean>
  /** Names of the plans that users have, as stored. */
  plansInUse(): Promise<string[]>
  /** Current spend under each limit, in the given order. */
  spendStates(of: readonly SpendLimit[]): Promise<SpendState[]>
  /** Undefined if the payload has no row. */
  findPayload(payloadId: string): Promise<OwnedPayload | undefined>
  /** Payloads in order of id, starting after `afterId`. */
  listPayloads(input: { afterId: string; limit: number }): Promise<PayloadRecord[]>

  // Sessions and chats
  createSession(input: CreateSession): Promise<CreateSessionResult>
  getSession(input: SessionOf): Promise<SessionRecord | undefined>
  listSessions(input: ListSessions): Promise<{ sessions: SessionListItem[] } & Listed>
  updateSession(input: UpdateSession): Promise<UpdateSessionResult>
  /** Deletes the session and its messages. Its turns and their charges stay. `busy` while a turn is in progress. */
  deleteSession(input: SessionOf): Promise<DeleteSessionResult>
  /** Lists messages, oldest first; undefined for an unknown session. */
  listMessages(input: SessionOf & BoundedPage): Promise<{ messages: MessageRecord[]; total: number } | undefined>
  /** Returns the text of a turn's reply; undefined if none was stored. */
  readReply(input: { sessionId: string; turnId: string }): Promise<string | undefined>
  readHistory(input: ReadHistory): Promise<History>
  /**
   * Checks idempotency, session, quote, rate, caps and balance. Writes turn, hold and the session's open turn
   * atomically.
   */
  openTurn(input: OpenTurn): Promise<OpenTurnResult>
  /** Increases an open turn's hold as far as balance and caps allow. */
  growHold(input: GrowHold): Promise<GrowHoldResult>
  /** Releases the hold, charges and stores the exchange in one transaction. Undefined if already settled. */
  settleTurn(input: SettleTurn): Promise<SettledTurn | undefined>
  /** Closes turns whose process has died (see `abandonedTasks`), without a charge. Returns how many. */
  closeAbandonedTurns(): Promise<number>

  // Money
  getAccount(userId: string): Promise<AccountRecord | undefined>
  listTransactions(input: ListTransactions): Promise<{ transactions: TransactionRecord[] } & Listed>
  /** Changes a balance by an amount. A negative amount (`adjustment`) never takes the balance below the hold. */
  credit(input: Credit): Promise<CreditResult>
  readSpend(input: ReadSpend): Promise<SpendPage>
  verifyLedger(): Promise<LedgerReport>

  // People and keys
  createUser(input: CreateUser): Promise<CreateUserResult>
  findUser(email: string): Promise<UserRecord | undefined>
  getUser(userId: string): Promise<(UserAccount & { passwordHash: string | null }) | undefined>
  findOwner(id: string): Promise<Owner | undefined>
  /** Lists users in order of creation. */
  listUsers(input: ListUsers): Promise<{ users: UserAccount[]; total: number }>
  /** Always leaves one admin. Suspension ends a user's logins. Losing admin rights or being suspended revokes links. */
  updateUser(input: UpdateUser): Promise<UpdateUserResult>
  /** Sets a password, ends other logins, forgets login attempts. Returns false if `from` is not the stored hash. */
  setPassword(input: SetPassword): Promise<boolean>
  /** Lifts a user's abuse and connector blocks, and forgets counted failures. Returns false if there was no block. */
  unblock(userId: string): Promise<boolean>
  /** Throws CONFLICT if the user has the maximum number of active keys. */
  createKey(input: CreateKey): Promise<KeyRecord>
  /** Finds a key by the SHA-256 of its token, in hex. Always reflects the last commit of any process. */
  findKey(tokenHash: string): Promise<KeyHolder | undefined>
  /** Newest first. `isLive`: true for active keys only, false for ended keys only. */
  listKeys(input: Page & { userId: string; isLive?: boolean }): Promise<{ keys: KeyRecord[]; total: number }>
  getKey(input: { userId: string; keyId: string }): Promise<KeyRecord | undefined>
  /** Changes the limits shared by all keys in the key's rotation chain. Undefined for an unknown key. */
  updateKey(input: UpdateKey): Promise<KeyRecord | undefined>
  /** Revokes a key. Returns false if it is unknown or already revoked. */
  revokeKey(input: { userId: string; keyId: string }): Promise<boolean>
  /**
   * Replaces an old key with `key`, which shares its limits. The old key expires at `oldExpiresAt` or earlier.
   * Undefined if the old key is unknown, revoked or already replaced.
   */
  rotateKey(input: {
    userId: string
    keyId: string
    key: CreateKey
    oldExpiresAt: EpochMs
  }): Promise<KeyRecord | undefined>
  /** Records when keys were last used. If a batch is lost, only these times are missing. */
  touchKeys(uses: readonly { keyId: string; at: EpochMs }[]): Promise<void>

  // Browser logins
  /** Counts a login attempt. Rejects it after too many attempts. */
  admitLogin(input: AdmitLogin): Promise<AdmitLoginResult>
  /** Undefined if the user is suspended or the password hash is no longer `ifPasswordHash`. */
  createLogin(input: CreateLogin): Promise<LoginRecord | undefined>
  /** Finds a login by the SHA-256 of its token, in hex. Always reflects the last commit of any process. */
  findLogin(tokenHash: string): Promise<LoginHolder | undefined>
  /** Lists active logins, newest first. */
  listLogins(input: Page & { userId: string }): Promise<{ logins: LoginRecord[]; total: number }>
  endLogin(input: { userId: string; loginId: string }): Promise<boolean>
  /** Ends all logins of a user. Returns how many. */
  endLogins(userId: string): Promise<number>
  /** Records when logins were last used. If a batch is lost, only these times are missing. */
  touchLogins(uses: readonly { loginId: string; at: EpochMs }[]): Promise<void>
  /**
   * Finds the user of an identity by issuer and subject. Otherwise finds or creates the user by verified email address
   * and links the identity to that user.
   */
  openIdentity(input: OpenIdentity): Promise<OpenIdentityResult>
  createInvitation(input: CreateInvitation): Promise<CreateInvitationResult>
  /** Undefined if the link is unknown, used or expired. */
  findInvitation(tokenHash: string): Promise<InvitationRecord | undefined>
  /** Newest first. */
  listInvitations(input: Page): Promise<{ invitations: InvitationRecord[]; total: number }>
  revokeInvitation(invitationId: string): Promise<boolean>
  /** Uses a link, which works once: creates the account with its credit, or sets the password and ends the logins. */
  acceptInvitation(input: { tokenHash: string; passwordHash: string }): Promise<AcceptInvitationResult>

  // Connectors
  /** Grants that users made by signing in at their connectors' servers. */
  readonly grants: ConnectorGrantStore
  createConnector(input: CreateConnector): Promise<CreateConnectorResult>
  getConnector(input: ConnectorOf): Promise<ConnectorRecord | undefined>
  listConnectors(input: BoundedPage & { userId: string }): Promise<{ connectors: ConnectorRecord[]; total: number }>
  updateConnector(input: UpdateConnector): Promise<UpdateConnectorResult>
  deleteConnector(input: ConnectorOf): Promise<boolean>
  /** Saves the result of a check, unless the connector has changed since. */
  noteConnectorCheck(input: ConnectorCheck): Promise<void>
  /** All users' connectors that have secrets, in order of id, starting after `afterId`. */
  sealedConnectors(input: { afterId: string; limit: number }): Promise<ConnectorRecord[]>
  /** Stores the same secrets encrypted with another key. Returns false if the stored secrets are no longer `from`. */
  resealConnector(input: { connectorId: string; from: string; to: string }): Promise<boolean>

  // Upkeep
  readState(): Promise<StoreState>
  /** Whether a write would succeed. If the last write failed, finds out with a test write. */
  canWrite(): Promise<boolean>
  /** Whether every connection already has its next command waiting, so that another would have to wait too. */
  hasBacklog(): boolean
  /** Records the expiry events of a bounded number of sessions. Returns true if there may be more. */
  noteExpired(): Promise<boolean>
  /** Deletes a bounded number of expired rows. Returns true if there may be more. */
  purgeExpired(): Promise<boolean>
  /** Deletes the contents of some tasks and sessions beyond their retention. Returns true if there may be more. */
  prune(): Promise<boolean>
  /** Writes a consistent copy of the database to a new file without blocking writes. */
  backup(file: string): Promise<void>
  close(): Promise<void>
}
