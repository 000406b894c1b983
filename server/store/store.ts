import type { AuditStore } from './audit/audit-types.ts'
import type { ErasureStore } from './erasure/erasure-types.ts'
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
  ExportedTransactions,
  ExportTransactions,
  Owner,
  WriteLedger,
} from './accounts/account-types.ts'
import type { EpochMs } from '../kernel/clock.ts'
import type { Units } from '../kernel/money.ts'
import type {
  AcceptInvitation,
  AcceptInvitationResult,
  AdmitLogin,
  AdmitLoginResult,
  CreateInvitation,
  CreateInvitationResult,
  CreateLogin,
  CreateUser,
  CreateUserResult,
  ListedUser,
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
  ExportTasks,
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
import type {
  ChangeAccountLimits,
  ChangeLimitsResult,
  KeyLimits,
  LimitsState,
  RateOf,
  UpdateKey,
  RateState,
} from './limits/limit-types.ts'
import type { PaymentStore } from './payments/payment-types.ts'
import type { Listed, ListPlace, ListRange, Page, BoundedPage } from './list-place.ts'
import type { ConnectorGrantStore } from './connectors/grant-types.ts'
import type { PlatformStore } from './platform/platform-types.ts'
import type { LedgerReport } from './ledger/ledger-report.ts'
import type { NodeState, StoreState } from './store-state.ts'
import type { SharedSettings, SharedStore } from './shared.ts'
import type { TurnEventStore } from './sessions/turn-types.ts'
import type { WireRequestStore } from './requests/wire-request-types.ts'
import type { MailStore } from './mails/mail-port.ts'
import type { WebhookStore } from './events/webhook-types.ts'

// The store port. Each method is one read or one atomic command. A command's promise resolves only when its outcome is
// durable, even if the outcome is a rejection. Expected rejections are return values, and only faults throw.
// SERVICE_UNAVAILABLE means that the disk rejected a write or that its outcome is unknown. If the disk rejected it,
// nothing was charged.

/** Limits that the store's transactions enforce. 0 means no limit. */
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
  /**
   * Duration of a node's lease on a task or turn if the store is shared. A node that does not renew the lease in time
   * loses the task or turn.
   */
  leaseSeconds: number
  plans?: Plans
  retention?: Retention
}

/** Maximum balance: 100 billion USD. It is well below the largest safe integer, which leaves room for refunds. */
export const balanceMax = 1_000_000_000_000_000

export type ListTransactions = Page &
  ListRange & {
    userId: string
    type?: TransactionType
    transactionId?: string
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
   * Set if a platform key makes the change. The key's daily limit then applies, only platform credit can be taken
   * back, and admins are treated as unknown users.
   */
  platformKeyId?: string
}
export type CreditResult =
  | { outcome: 'credited' | 'replayed'; transactionId: string; balance: Units }
  | { outcome: 'refused'; reason: 'unknown-user' | 'idempotency-conflict' | 'balance' | 'limit' }
  | { outcome: 'refused'; reason: 'not-credited'; platformCredited: Units }

export type CreateKey = Pick<KeyRecord, 'userId' | 'name' | 'hint' | 'scopes' | 'expiresAt'> &
  Partial<KeyLimits> & { tokenHash: string }

export type CreateConnector = ConnectorOf &
  Pick<ConnectorRecord, 'name' | 'url' | 'server' | 'authType' | 'sealed' | 'allowedTools'>

export type CreateConnectorResult =
  | { outcome: 'created'; connector: ConnectorRecord }
  | { outcome: 'refused'; reason: 'name-taken' | 'too-many' }

/**
 * Undefined fields remain unchanged. If the URL or the secrets change, the grant is deleted, so the user must sign in
 * or check the connector again.
 */
export type UpdateConnector = ConnectorOf & {
  /** The `updatedAt` that the caller has read. If it has since changed, the update is rejected. */
  ifUpdatedAt?: EpochMs
  changes: Partial<Pick<ConnectorRecord, 'name' | 'url' | 'authType' | 'sealed' | 'allowedTools'>>
}

export type UpdateConnectorResult =
  | { outcome: 'updated'; connector: ConnectorRecord }
  | { outcome: 'refused'; reason: 'unknown' | 'name-taken' | 'changed' }

export type ConnectorCheck = ConnectorOf & {
  updatedAt: EpochMs
  status: ConnectorStatus
  statusMessage: string | null
}

export type Store = {
  readonly shared?: SharedStore
  /** Settings that CLI commands can also change while servers are running. */
  readonly settings: SharedSettings
  readonly webhooks: WebhookStore
  readonly mails: MailStore
  /** Platform keys, the users of products that are built on the service, and client tokens for browsers. */
  readonly platform: PlatformStore
  readonly payments: PaymentStore
  readonly turnEvents: TurnEventStore
  readonly books: BookStore
  readonly audit: AuditStore
  readonly erasure: ErasureStore

  /** Checks the idempotency key, quote, blocks, rate and balance, and writes all of the task's rows atomically. */
  admitTask(input: AdmitTask): Promise<AdmitTaskResult>
  /** Returns the rejection that `admitTask` would return, or undefined. Writes nothing. */
  foreseeAdmission(
    input: Omit<AdmitTask, 'request'>,
  ): Promise<Exclude<AdmitTaskResult, { outcome: 'accepted' }> | undefined>
  /** Returns the rejection, if any, that limits other than rate limits would cause. Writes nothing. */
  foreseeLimits(input: {
    userId: string
    agentId: string
    required: Units
    limits?: CredentialLimits | null
    /** Size of the payloads to store, or a lower bound if it is not known yet. */
    payloadBytes?: number
  }): Promise<LimitRefusal | undefined>
  /**
   * Starts a new attempt of a queued task if the user's limit on running tasks allows it. If the user's connectors are
   * blocked, a task that uses connectors fails and is refunded.
   */
  claimTask(taskId: string): Promise<ClaimTaskResult>
  /** Completes a task and refunds the unused part of its charge. Returns false for a stale attempt. */
  completeTask(input: CompleteTask): Promise<boolean>
  /** Fails and refunds a task. Returns false for a stale attempt. */
  failTask(input: FailTask): Promise<boolean>
  /**
   * Must be called before an attempt calls a connector or charges for an event. The task can then no longer be
   * canceled. Returns false for a stale attempt, which must do neither.
   */
  forbidCancel(input: AttemptRef): Promise<boolean>
  /** Saves progress reports, but ignores those of attempts that are no longer running. */
  noteProgress(notes: readonly ProgressNote[]): Promise<void>
  /** Cancels and refunds an open task. Canceling a running task counts toward the abuse block. */
  cancelTask(input: CancelTask): Promise<CancelTaskResult>
  expiringTasks(limit: number): Promise<string[]>
  /** Fails and refunds an expired task. Returns false if the task has started or ended in the meantime. */
  expireTask(input: { taskId: string; error: TaskFailure }): Promise<boolean>
  /** Requeues an interrupted task if it has attempts left. Otherwise fails and refunds it. */
  interruptTask(input: Interruption): Promise<'requeued' | 'failed' | 'stale'>
  /**
   * Returns the next tasks to claim. Users take turns, starting after the user `after`, and each user's oldest tasks
   * come first. Skips the users in `passOver`. On a shared store, also leases the tasks to this node.
   */
  takeTasks(input: Taking): Promise<Taken>
  /**
   * Returns running tasks whose process has crashed. On a shared store, these are the tasks whose lease has expired.
   * Otherwise they are all running tasks at startup.
   */
  abandonedTasks(limit: number): Promise<{ id: string; endpointId: string; attempt: number }[]>
  getTask(input: { userId: string; taskId: string }): Promise<TaskRecord | undefined>
  listTasks(input: ListTasks): Promise<{ tasks: TaskListItem[] } & Listed>
  /** Reads the next tasks of an export, newest first, starting after the position `after`. */
  exportTasks(input: ExportTasks): Promise<{ tasks: TaskListItem[]; next?: ListPlace }>
  findIdempotent(of: { userId: string; operation: string; key: string }): Promise<UsedKey | undefined>
  requests: WireRequestStore
  readRate(of: RateOf): Promise<RateState>
  readLimits(userId: string): Promise<LimitsState | undefined>
  /** Changes a user's plan and limits. Running tasks and chats continue, but under the new limits. */
  changeAccountLimits(input: ChangeAccountLimits): Promise<ChangeLimitsResult>
  plansInUse(): Promise<string[]>
  spendStates(of: readonly SpendLimit[]): Promise<SpendState[]>
  findPayload(payloadId: string): Promise<OwnedPayload | undefined>
  /** Returns payloads ordered by id, starting after `afterId`. */
  listPayloads(input: { afterId: string; limit: number }): Promise<PayloadRecord[]>

  createSession(input: CreateSession): Promise<CreateSessionResult>
  getSession(input: SessionOf): Promise<SessionRecord | undefined>
  listSessions(input: ListSessions): Promise<{ sessions: SessionListItem[] } & Listed>
  updateSession(input: UpdateSession): Promise<UpdateSessionResult>
  /**
   * Deletes a session and its messages, but not its turns or their charges. Returns `busy` while a turn is in progress.
   */
  deleteSession(input: SessionOf): Promise<DeleteSessionResult>
  /** Returns messages, oldest first, or undefined if the session does not exist. */
  listMessages(input: SessionOf & BoundedPage): Promise<{ messages: MessageRecord[]; total: number } | undefined>
  readReply(input: { sessionId: string; turnId: string }): Promise<string | undefined>
  readHistory(input: ReadHistory): Promise<History>
  /** Checks the idempotency key, session, quote, rate, caps and balance, and opens a turn atomically. */
  openTurn(input: OpenTurn): Promise<OpenTurnResult>
  /** Increases an open turn's hold as far as the balance and caps allow. */
  growHold(input: GrowHold): Promise<GrowHoldResult>
  /**
   * Releases the hold, charges the cost and stores the exchange in one transaction. Returns undefined if the turn was
   * already settled.
   */
  settleTurn(input: SettleTurn): Promise<SettledTurn | undefined>
  /** Settles turns of crashed processes (see `abandonedTasks`) without a charge. Returns how many it settled. */
  closeAbandonedTurns(): Promise<number>

  getAccount(userId: string): Promise<AccountRecord | undefined>
  listTransactions(input: ListTransactions): Promise<{ transactions: TransactionRecord[] } & Listed>
  /** Reads the next transactions of an export, newest first, with the tasks and turns that they charged. */
  exportTransactions(input: ExportTransactions): Promise<ExportedTransactions>
  /** Credits or debits an account. A debit never reduces the balance below the amount on hold. */
  credit(input: Credit): Promise<CreditResult>
  readSpend(input: ReadSpend): Promise<SpendPage>
  verifyLedger(): Promise<LedgerReport>

  createUser(input: CreateUser): Promise<CreateUserResult>
  findUser(email: string): Promise<UserRecord | undefined>
  getUser(userId: string): Promise<(UserAccount & { passwordHash: string | null }) | undefined>
  findOwner(id: string): Promise<Owner | undefined>
  listUsers(input: ListUsers): Promise<{ users: ListedUser[]; total: number }>
  /**
   * Updates a user, but never removes the last admin. Suspending a user ends the user's logins. Suspending a user or
   * removing admin rights also revokes the links that this user has created.
   */
  updateUser(input: UpdateUser): Promise<UpdateUserResult>
  /** Sets a password and ends the user's other logins. Returns false if `from` is not the stored hash. */
  setPassword(input: SetPassword): Promise<boolean>
  /** Removes a user's blocks and counted failures. Returns false if the user was not blocked. */
  unblock(userId: string): Promise<boolean>
  createKey(input: CreateKey): Promise<KeyRecord>
  findKey(tokenHash: string): Promise<KeyHolder | undefined>
  /** Returns keys, newest first. `isLive` selects active keys if true, and expired or revoked keys if false. */
  listKeys(input: Page & { userId: string; isLive?: boolean }): Promise<{ keys: KeyRecord[]; total: number }>
  getKey(input: { userId: string; keyId: string }): Promise<KeyRecord | undefined>
  /** Changes the limits that all keys of a rotation chain share. Returns undefined if the key does not exist. */
  updateKey(input: UpdateKey): Promise<KeyRecord | undefined>
  /** Returns false if the key does not exist or is already revoked. */
  revokeKey(input: { userId: string; keyId: string }): Promise<boolean>
  /**
   * Replaces a key with `key`, which shares its limits. The old key expires at `oldExpiresAt` or earlier. Returns
   * undefined if the old key does not exist, is revoked or was already replaced.
   */
  rotateKey(input: {
    userId: string
    keyId: string
    key: CreateKey
    oldExpiresAt: EpochMs
  }): Promise<KeyRecord | undefined>
  /** Records when keys were last used. If a batch is lost, only these times are missing. */
  touchKeys(uses: readonly { keyId: string; at: EpochMs }[]): Promise<void>

  /** Counts a login attempt, or rejects it if there were too many. */
  admitLogin(input: AdmitLogin): Promise<AdmitLoginResult>
  /** Returns undefined if the user is suspended or if `ifPasswordHash` is not the stored hash. */
  createLogin(input: CreateLogin): Promise<LoginRecord | undefined>
  findLogin(tokenHash: string): Promise<LoginHolder | undefined>
  listLogins(input: Page & { userId: string }): Promise<{ logins: LoginRecord[]; total: number }>
  endLogin(input: { userId: string; loginId: string }): Promise<boolean>
  endLogins(userId: string): Promise<number>
  /** Records when logins were last used. If a batch is lost, only these times are missing. */
  touchLogins(uses: readonly { loginId: string; at: EpochMs }[]): Promise<void>
  /**
   * Finds the user of an identity by issuer and subject. If the identity is new, links it to the user with the
   * verified email address, and creates that user if necessary.
   */
  openIdentity(input: OpenIdentity): Promise<OpenIdentityResult>
  createInvitation(input: CreateInvitation): Promise<CreateInvitationResult>
  /** Returns undefined if the link is unknown, used or expired. */
  findInvitation(tokenHash: string): Promise<InvitationRecord | undefined>
  listInvitations(input: Page): Promise<{ invitations: InvitationRecord[]; total: number }>
  revokeInvitation(invitationId: string): Promise<boolean>
  /**
   * Accepts a single-use link. An invitation creates an account with the invitation's credit, and a sign-up link
   * creates one with the newcomer plan and credit. A password link sets the password and ends the user's logins.
   */
  acceptInvitation(input: AcceptInvitation): Promise<AcceptInvitationResult>

  readonly grants: ConnectorGrantStore
  createConnector(input: CreateConnector): Promise<CreateConnectorResult>
  getConnector(input: ConnectorOf): Promise<ConnectorRecord | undefined>
  listConnectors(input: BoundedPage & { userId: string }): Promise<{ connectors: ConnectorRecord[]; total: number }>
  updateConnector(input: UpdateConnector): Promise<UpdateConnectorResult>
  deleteConnector(input: ConnectorOf): Promise<boolean>
  /** Saves the result of a check, unless the connector has changed in the meantime. */
  noteConnectorCheck(input: ConnectorCheck): Promise<void>
  /** Returns all users' connectors that have secrets, ordered by id, starting after `afterId`. */
  sealedConnectors(input: { afterId: string; limit: number }): Promise<ConnectorRecord[]>
  /** Stores the same secrets encrypted with another key. Returns false if the stored secrets are no longer `from`. */
  resealConnector(input: { connectorId: string; from: string; to: string }): Promise<boolean>

  readState(): Promise<StoreState>
  /** Reads all transactions that exist when the read starts, oldest first. */
  readLedger(write: WriteLedger): Promise<void>
  /** Lists the running servers that use the database, oldest first. */
  listNodes(): Promise<NodeState[]>
  /** Whether writes succeed. If the last write failed, this makes a test write. */
  canWrite(): Promise<boolean>
  /** Whether every connection is busy and already has its next command waiting. */
  hasBacklog(): boolean
  /** Records the expiry of some sessions as events. Returns true if there may be more. */
  noteExpired(): Promise<boolean>
  /** Deletes some expired rows. Returns true if there may be more. */
  purgeExpired(): Promise<boolean>
  /** Deletes the content of some tasks and sessions whose retention has ended. Returns true if there may be more. */
  prune(): Promise<boolean>
  /** Writes a consistent copy of the database to a new file, without blocking writes. */
  backup(file: string): Promise<void>
  close(): Promise<void>
}
