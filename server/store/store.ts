import type { EpochMs } from '../kernel/clock.ts'
import type { Units } from '../kernel/money.ts'
import type {
  AccountRecord,
  AttemptRef,
  BoundedPage,
  ConnectorOf,
  ConnectorRecord,
  ConnectorStatus,
  InvitationRecord,
  KeyHolder,
  KeyRecord,
  LoginHolder,
  LoginRecord,
  MessageRecord,
  OwnedPayload,
  Page,
  PayloadRecord,
  RateState,
  ReadSpend,
  SessionListItem,
  SessionRecord,
  SpendPage,
  TaskFailure,
  TaskListItem,
  TaskRecord,
  TransactionRecord,
  TransactionType,
  UserRecord,
} from './records.ts'
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
} from './people.ts'
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
} from './session-inputs.ts'
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
} from './task-inputs.ts'
import type { CredentialLimits, SpendLimit, SpendState } from './execution-limits.ts'
import type { Plans } from './limits/account-limits.ts'
import type { ChangeAccountLimits, KeyLimits, LimitsState, RateOf, UpdateKey } from './limits/limit-inputs.ts'
import type { PaymentStore } from './payments/payment-records.ts'
import type { Listed, ListRange } from './list-place.ts'
import type { ConnectorGrantStore } from './connectors/grant-records.ts'
import type { PlatformStore } from './platform/platform-records.ts'
import type { PostedTotals } from './posted-totals.ts'
import type { SharedSettings, SharedStore } from './shared.ts'
import type { TurnEventStore } from './turns/turn-records.ts'
import type { WireRequestStore } from './requests/wire-requests.ts'
import type { WebhookStore } from './webhook-inputs.ts'

// The store port. Each method is one atomic business command or one read. A command's promise resolves only when its
// outcome is durable, refusals included; expected refusals are values, only faults throw (SERVICE_UNAVAILABLE when the
// outcome of a write is unknown or the disk refuses it, and then nothing was charged).

/** The limits that the store's own transactions enforce; 0 switches a count off. */
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
  /** Where nodes share the store: how long a silent node keeps what it took. */
  leaseSeconds: number
  plans?: Plans
}

/** A hundred billion USD: far below what is counted exactly, so that no refund can leave that range. */
export const balanceMax = 1_000_000_000_000_000

/** Executions are counted over this long. */
export const rateWindowMs = 60_000

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
  /** Its ceiling counts the amount, it takes back only what platform keys credited, and admins are unknown to it. */
  platformKeyId?: string
}
export type CreditResult =
  | { outcome: 'credited' | 'replayed'; transactionId: string; balance: Units }
  | { outcome: 'refused'; reason: 'unknown-user' | 'idempotency-conflict' | 'balance' | 'ceiling' }
  | { outcome: 'refused'; reason: 'not-credited'; platformCredited: Units }

/** What is under way, for the operator. */
export type StoreState = {
  pendingTasks: number
  processingTasks: number
  openTurns: number
  users: number
  suspendedUsers: number
  databaseBytes: number
  walBytes: number
  /** Whether the last write was committed. */
  isWritable: boolean
  /** What this process has committed since it began. */
  posted: PostedTotals
}

export type CreateKey = Pick<KeyRecord, 'userId' | 'name' | 'hint' | 'scopes' | 'expiresAt'> &
  Partial<KeyLimits> & { tokenHash: string }

export type LedgerDifference = {
  userId: string | null
  taskId?: string
  what: string
  expected: string
  actual: string
}
export type LedgerReport = { ok: boolean; accounts: number; transactions: number; differences: LedgerDifference[] }

export type CreateConnector = ConnectorOf &
  Pick<ConnectorRecord, 'name' | 'url' | 'server' | 'authType' | 'sealed' | 'allowedTools'>

export type CreateConnectorResult =
  | { outcome: 'created'; connector: ConnectorRecord }
  | { outcome: 'refused'; reason: 'name-taken' | 'too-many' }

/**
 * What is left out stays. With new secrets or another address the connector is untested, or needs a sign-in, and what it
 * had by one is gone.
 */
export type UpdateConnector = ConnectorOf & {
  /** Refused when the connector was changed since. */
  ifUpdatedAt?: EpochMs
  changes: Partial<Pick<ConnectorRecord, 'name' | 'url' | 'authType' | 'sealed' | 'allowedTools'>>
}

export type UpdateConnectorResult =
  | { outcome: 'updated'; connector: ConnectorRecord }
  | { outcome: 'refused'; reason: 'unknown' | 'name-taken' | 'changed' }

export type ConnectorCheck = ConnectorOf & {
  /** Of the connector as it was checked. */
  updatedAt: EpochMs
  status: ConnectorStatus
  statusMessage: string | null
}

export type Store = {
  /** Undefined where one process owns the store. */
  readonly shared?: SharedStore
  /** Open to commands beside the servers, too. */
  readonly settings: SharedSettings
  /** Who is told of events, and what became of that. */
  readonly webhooks: WebhookStore
  /** Keys of products that are built on the service, their users, and tokens for browsers. */
  readonly platform: PlatformStore
  /** What users pay, and what the provider took back of it. */
  readonly payments: PaymentStore
  /** What turns have said, for readers who come later or to another node. */
  readonly turnEvents: TurnEventStore

  // Tasks
  /** Idempotency, quote, block, rate, balance; then charge, ledger row, task row and idempotency row, all in one transaction. */
  admitTask(input: AdmitTask): Promise<AdmitTaskResult>
  /** What `admitTask` would answer other than `accepted`, without writing anything; undefined when nothing stands against it. */
  foreseeAdmission(
    input: Omit<AdmitTask, 'request'>,
  ): Promise<Exclude<AdmitTaskResult, { outcome: 'accepted' }> | undefined>
  /** What an execution would be refused for by its limits, rates aside; writes nothing. */
  foreseeLimits(input: {
    userId: string
    agentId: string
    required: Units
    limits?: CredentialLimits | null
    /** Payloads that are to be stored for it, as far as they are known. */
    payloadBytes?: number
  }): Promise<LimitRefusal | undefined>
  /**
   * Moves a queued task to processing under a new attempt, within what its user may have at work. Fails and refunds a pending
   * one whose connectors are blocked.
   */
  claimTask(taskId: string): Promise<ClaimTaskResult>
  /**
   * False when the attempt is stale. With the usage of a metered task, what it did not use of its charge is given back in the
   * same transaction.
   */
  completeTask(input: CompleteTask): Promise<boolean>
  /** Terminal state, refund and the count toward the abuse block in one transaction; false when the attempt is stale. */
  failTask(input: FailTask): Promise<boolean>
  /**
   * Makes a task uncancelable: its attempt is about to call a connector, or has charged an event. False when the attempt is
   * stale, and then the call must not leave and the event does not count.
   */
  forbidCancel(input: AttemptRef): Promise<boolean>
  /** Keeps what runs said of their progress, each as long as its attempt is at work. */
  noteProgress(notes: readonly ProgressNote[]): Promise<void>
  /** Ends an open task that can still be canceled, with its refund. It counts toward the abuse block if an agent was at work. */
  cancelTask(input: CancelTask): Promise<CancelTaskResult>
  /** Tasks that nobody has begun in time. */
  expiringTasks(limit: number): Promise<string[]>
  /** Fails and refunds such a task; false when it was begun or has ended meanwhile. */
  expireTask(input: { taskId: string; error: TaskFailure }): Promise<boolean>
  /** Queues the task again while `attempt` leaves a retry, else fails and refunds it. */
  interruptTask(input: Interruption): Promise<'requeued' | 'failed' | 'stale'>
  /**
   * The next tasks to claim: of users in turn, beginning behind one of them, the oldest of each. None when none wait, but
   * for those of users who are passed over. Where nodes share the store, no other is given them while their lease lasts.
   */
  takeTasks(input: Taking): Promise<Taken>
  /**
   * Tasks that were taken up by a process that is gone, queued ones left out: all of them where one process owns the
   * store, which asks once when it starts; else those whose lease has passed.
   */
  abandonedTasks(limit: number): Promise<{ id: string; endpointId: string; attempt: number }[]>
  getTask(input: { userId: string; taskId: string }): Promise<TaskRecord | undefined>
  listTasks(input: ListTasks): Promise<{ tasks: TaskListItem[] } & Listed>
  findIdempotent(of: { userId: string; operation: string; key: string }): Promise<UsedKey | undefined>
  requests: WireRequestStore
  readRate(of: RateOf): Promise<RateState>
  /** What limits a user, and what is used of it; undefined for an unknown user. */
  readLimits(userId: string): Promise<LimitsState | undefined>
  /** Of a user's plan and own limits; what is under way goes on within the new ones. False for an unknown user. */
  changeAccountLimits(input: ChangeAccountLimits): Promise<boolean>
  /** Names of the plans that users have, as they are kept. */
  plansInUse(): Promise<string[]>
  /** What is spent of limits now, in their order. */
  spendStates(of: readonly SpendLimit[]): Promise<SpendState[]>
  /** Undefined when no task names it. */
  findPayload(payloadId: string): Promise<OwnedPayload | undefined>
  /** Payloads in order of their ids, after `afterId`. */
  listPayloads(input: { afterId: string; limit: number }): Promise<PayloadRecord[]>

  // Sessions and chats
  createSession(input: CreateSession): Promise<CreateSessionResult>
  getSession(input: SessionOf): Promise<SessionRecord | undefined>
  listSessions(input: ListSessions): Promise<{ sessions: SessionListItem[] } & Listed>
  updateSession(input: UpdateSession): Promise<UpdateSessionResult>
  /** Deletes the session with its messages; the turns and their charges stay. `busy` while a turn is under way. */
  deleteSession(input: SessionOf): Promise<DeleteSessionResult>
  /** Oldest first; undefined for an unknown session. */
  listMessages(input: SessionOf & BoundedPage): Promise<{ messages: MessageRecord[]; total: number } | undefined>
  /** The text that a turn replied with; undefined where it kept none. */
  readReply(input: { sessionId: string; turnId: string }): Promise<string | undefined>
  readHistory(input: ReadHistory): Promise<History>
  /** Idempotency, session, quote, rate, caps, balance; then turn, hold and the session's one open turn, in one transaction. */
  openTurn(input: OpenTurn): Promise<OpenTurnResult>
  /** Holds more for an open turn, as far as the balance and its caps allow it. */
  growHold(input: GrowHold): Promise<GrowHoldResult>
  /** Releases the hold, charges and stores the exchange in one transaction; undefined when the turn is settled already. */
  settleTurn(input: SettleTurn): Promise<SettledTurn | undefined>
  /** Closes the turns of processes that are gone, as for `abandonedTasks`, without a charge. How many there were. */
  closeAbandonedTurns(): Promise<number>

  // Money
  getAccount(userId: string): Promise<AccountRecord | undefined>
  listTransactions(input: ListTransactions): Promise<{ transactions: TransactionRecord[] } & Listed>
  /** Adds to a balance, or with a negative amount takes from it (`adjustment`), never below what is held. */
  credit(input: Credit): Promise<CreditResult>
  readSpend(input: ReadSpend): Promise<SpendPage>
  verifyLedger(): Promise<LedgerReport>

  // People and keys
  createUser(input: CreateUser): Promise<CreateUserResult>
  findUser(email: string): Promise<UserRecord | undefined>
  getUser(userId: string): Promise<(UserAccount & { passwordHash: string | null }) | undefined>
  /** In order of their creation. */
  listUsers(input: ListUsers): Promise<{ users: UserAccount[]; total: number }>
  /**
   * Suspends a user, ends the suspension, or makes an admin of a user or none. One admin always stays. The logins of
   * who is suspended end, and so do the open links that an admin made who is none any more.
   */
  updateUser(input: UpdateUser): Promise<UpdateUserResult>
  /** Sets a user's password, ends the other logins and forgets failed tries; false when it was changed meanwhile. */
  setPassword(input: SetPassword): Promise<boolean>
  /** Lifts an abuse block and forgets the failures that led to it; false when the user was not blocked. */
  unblock(userId: string): Promise<boolean>
  /** Throws CONFLICT when the user has as many live keys as are allowed. */
  createKey(input: CreateKey): Promise<KeyRecord>
  /** By the SHA-256 of the token, in hex. Never older than the last commit of any process. */
  findKey(tokenHash: string): Promise<KeyHolder | undefined>
  /** Newest first; with `isLive` only keys that work, or only those that have ended. */
  listKeys(input: Page & { userId: string; isLive?: boolean }): Promise<{ keys: KeyRecord[]; total: number }>
  getKey(input: { userId: string; keyId: string }): Promise<KeyRecord | undefined>
  /** Changes what keys may be used for: this one, and those that took its place by rotation. Undefined for an unknown key. */
  updateKey(input: UpdateKey): Promise<KeyRecord | undefined>
  /** Ends a key now, or at `at` when that is later (the overlap of a rotation); false when it is unknown or revoked. */
  revokeKey(input: { userId: string; keyId: string }): Promise<boolean>
  /** A new key with the old one's name, scopes and limits, of which they spend together; the old one expires at `oldExpiresAt`. */
  rotateKey(input: {
    userId: string
    keyId: string
    key: CreateKey
    oldExpiresAt: EpochMs
  }): Promise<KeyRecord | undefined>
  /** Records when keys were last used; losing a batch loses nothing but that. */
  touchKeys(uses: readonly { keyId: string; at: EpochMs }[]): Promise<void>

  // Browser logins
  /** Counts a try; refused while there were too many. */
  admitLogin(input: AdmitLogin): Promise<AdmitLoginResult>
  /** Undefined when the user is suspended or the password was changed meanwhile. */
  createLogin(input: CreateLogin): Promise<LoginRecord | undefined>
  /** By the SHA-256 of the token, in hex. Never older than the last commit of any process. */
  findLogin(tokenHash: string): Promise<LoginHolder | undefined>
  /** The latest first; those that have ended are left out. */
  listLogins(input: Page & { userId: string }): Promise<{ logins: LoginRecord[]; total: number }>
  endLogin(input: { userId: string; loginId: string }): Promise<boolean>
  /** Ends all logins of a user; how many there were. */
  endLogins(userId: string): Promise<number>
  /** Records when logins were last used; losing a batch loses nothing but that. */
  touchLogins(uses: readonly { loginId: string; at: EpochMs }[]): Promise<void>
  /** Finds the user of an identity: by issuer and subject, or else by a verified email address, which links it. */
  openIdentity(input: OpenIdentity): Promise<OpenIdentityResult>
  createInvitation(input: CreateInvitation): Promise<CreateInvitationResult>
  /** Undefined when it is unknown, used or past its time. */
  findInvitation(tokenHash: string): Promise<InvitationRecord | undefined>
  /** Newest first. */
  listInvitations(input: Page): Promise<{ invitations: InvitationRecord[]; total: number }>
  revokeInvitation(invitationId: string): Promise<boolean>
  /** Once: makes the account with its credit, or sets the password and ends the user's logins. */
  acceptInvitation(input: { tokenHash: string; passwordHash: string }): Promise<AcceptInvitationResult>

  // Connectors
  /** What they may do by their owners' sign-ins. */
  readonly grants: ConnectorGrantStore
  createConnector(input: CreateConnector): Promise<CreateConnectorResult>
  getConnector(input: ConnectorOf): Promise<ConnectorRecord | undefined>
  listConnectors(input: BoundedPage & { userId: string }): Promise<{ connectors: ConnectorRecord[]; total: number }>
  updateConnector(input: UpdateConnector): Promise<UpdateConnectorResult>
  deleteConnector(input: ConnectorOf): Promise<boolean>
  /** Keeps what a check found, unless the connector was changed since. */
  noteConnectorCheck(input: ConnectorCheck): Promise<void>
  /** Connectors of all users that hold secrets, in order of their ids, after `afterId`. */
  sealedConnectors(input: { afterId: string; limit: number }): Promise<ConnectorRecord[]>
  /** Puts the same secrets under another key; false when they were changed meanwhile. */
  resealConnector(input: { connectorId: string; from: string; to: string }): Promise<boolean>

  // Upkeep
  readState(): Promise<StoreState>
  /** Whether a write would be kept: tried when the last one was not. */
  canWrite(): Promise<boolean>
  /** Writes the events of sessions that have expired, a bounded number of them; true when there may be more. */
  noteExpired(): Promise<boolean>
  /** Deletes what has passed its time, a bounded number of rows; true when there may be more. */
  purgeExpired(): Promise<boolean>
  /** A consistent copy of the database in a new file, while writes go on. */
  backup(file: string): Promise<void>
  close(): Promise<void>
}
