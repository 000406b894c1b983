import type { TransactionType } from '../accounts/account-types.ts'
import type { RateState } from '../limits/limit-types.ts'
import type { TaskRecord } from '../tasks/task-types.ts'
import type { ChatBreakdown } from '../sessions/session-types.ts'
import type { EpochMs } from '../../kernel/clock.ts'
import type { Units } from '../../kernel/money.ts'
import type { MessageRow, NewestRow } from '../sessions/session-records.ts'
import type { AccountRow } from '../tables/account-tables.ts'
import type { AddedToWindow, KeyRateRow, Spent, WindowOf, WindowRow } from '../limits/used-rows.ts'
import type { Statement, Values } from './statement.ts'

// Commands are generators, written once for both engines. SQLite runs each command synchronously, because several
// commands share a commit and nothing else may run between them. PostgreSQL awaits each query.

export type Op<Value> = Generator<unknown, Value, unknown>

/**
 * A pending query result. Creating it sends the query, and `yield*` waits for the result. Queries sent before the first
 * wait share one round trip.
 */
export type Answer<Value> = {
  [Symbol.iterator](): Iterator<unknown, Value, unknown>
  /** Transforms the value. Frequent reads with a single query use this instead of a generator. */
  map<Next>(make: (value: Value) => Next): Answer<Next>
}

export type AccountOf = { userId: string } | { taskId: string } | { turnId: string }

/** A row that only this transaction can create. If the row exists, the transaction was committed. */
export type MadeRow = {
  table:
    | 'transactions'
    | 'sessions'
    | 'turns'
    | 'users'
    | 'api_keys'
    | 'logins'
    | 'invitations'
    | 'connectors'
    | 'webhooks'
    | 'platform_keys'
    | 'client_tokens'
    | 'topups'
  id: string
}

export type Posting = {
  userId: string
  type: TransactionType
  amount: Units
  taskId?: string
  sessionId?: string
  turnId?: string
  topupId?: string
  description: string
  breakdown?: ChatBreakdown
  idempotencyKey?: string | null
  /**
   * Set if a platform key made this change. JSON object that maps the key's id to the day that the amount counts
   * toward.
   */
  countedIn?: string | undefined
  /** For a chat charge: the hold to release, and the account's new carried remainder. */
  settles?: { held: Units; carried: number }
  now: EpochMs
}

export type RateRead = {
  /** Highest rate limit that this read can evaluate. */
  readonly limitMax: number
  at(limit: number, now: EpochMs): RateState
}

export type UsedReads = {
  window(of: WindowOf): Answer<WindowRow | undefined>
  /**
   * Returns the existing windows among those in `countedIn`. `countedIn` is a JSON object that maps each owner to a
   * period start.
   */
  named(countedIn: string): Answer<WindowRow[]>
  keyRate(keyId: string): Answer<KeyRateRow | undefined>
}

/**
 * Changes to limit usage. The account must be locked. A change that makes a window negative or exceeds its limit rolls
 * the command back.
 */
export type UsedChanges = {
  /** Adds spend to a window. Creates the window if it does not exist yet. */
  add(added: AddedToWindow): void
  change(countedIn: string, by: Spent): void
  setKeyRate(keyId: string, row: KeyRateRow): void
  /** Writes all pending changes. Must be called before a statement that changes or deletes these rows directly. */
  writeOut(): void
}

export type Reads = {
  get<Row>(statement: Statement<Row>, values?: Values): Answer<Row | undefined>
  all<Row>(statement: Statement<Row>, values?: Values): Answer<Row[]>
  /**
   * Returns the current time. If the command has locked an account, the time is taken after the lock. It is therefore
   * never earlier than the time of a previous command on that account.
   */
  now(): Answer<EpochMs>
  /**
   * Reads an account without locking it. The result includes the command's own changes if it has locked the account.
   */
  account(userId: string): Answer<AccountRow | undefined>
  /** Reads a user's newest `limit` executions, so that `RateRead.at` can evaluate a rate limit. */
  rate(userId: string, limit: number): Answer<RateRead>
  readonly used: UsedReads
  /**
   * Returns the number of a user's queued tasks. The result includes the command's own changes if it has locked the
   * account.
   */
  waiting(userId: string): Answer<number>
  readonly skippedPerTick: number
  pause(userId: string): Answer<void>
  /** Returns as many messages of the page as fit in `bytesMax`, but at least one. */
  fittingMessages(of: {
    sessionId: string
    limit: number
    offset: number
    bytesMax: number
  }): Answer<Iterable<MessageRow>>
  /** Passes the messages of a session to `take`, newest first, until `take` returns false. */
  newestMessages(sessionId: string, take: (message: NewestRow) => boolean): Answer<void>
}

/** A change to one of a user's counters: tasks by agent and status, transactions by type, or write-offs. */
export type CounterChange = {
  userId: string
  kind: 'task' | 'transaction' | 'written-off'
  part: string
  status: string
  by: number
}

/**
 * The transaction of a command. To prevent deadlocks, all commands acquire locks in the same order: one account, then
 * the session, then the task or turn.
 */
export type Tx = Reads & {
  readonly used: UsedChanges
  run(statement: Statement<never>, values?: Values): Answer<number>
  /** Runs a statement without waiting for its answer. If it fails, the command is rolled back. */
  send(statement: Statement<never>, values: Values): void
  /**
   * Locks and returns the account. No other command can change it before this one ends. Returns undefined if the
   * account does not exist.
   */
  lockAccount(of: { userId: string } | { taskId: string }): Answer<AccountRow | undefined>
  /** Locks the account that owns the task or turn. Returns false if the task or turn does not exist. */
  lockOwner(of: { taskId: string } | { turnId: string }): Answer<boolean>
  /** Serializes commands that call this with the same kind and text. */
  lock(kind: LockKind, text?: string): Answer<void>
  /**
   * Changes the balance of a locked account and records the transaction. This is the only way to change a balance. If
   * the balance would fall below the amount on hold, a CHECK rolls the command back.
   */
  post(posting: Posting): Answer<{ id: string; balance: Units }>
  /** Changes a locked account's amount on hold. If it would exceed the balance, a CHECK rolls the command back. */
  hold(userId: string, by: Units): void
  owe(userId: string, by: Units): void
  count(change: CounterChange): void
  /** Records an accepted execution. The caller must already have read the user's rate window. */
  accepted(userId: string, at: EpochMs): void
  /**
   * Names a row that exists only if the COMMIT has succeeded. If the answer to the COMMIT is lost, the engine looks for
   * this row. One row per command is enough.
   */
  made(row: MadeRow): void
  /**
   * Must be called after a change to credentials of this kind, or to data read along with them. A change to `users`
   * affects all kinds.
   */
  holdersChanged(of: Holding | 'users'): void
}

export type TaskOf = { userId: string; taskId: string }

export type Holding = 'keys' | 'logins' | 'platform-keys' | 'client-tokens'

/**
 * Subjects of advisory locks: the set of admins, login attempts by email address and by client, sign-ups, identities at
 * login providers, external user ids, the platform's webhooks, task retention, and the audit log.
 */
export type LockKind =
  | 'admins'
  | 'login-email'
  | 'login-client'
  | 'sign-ups'
  | 'identity'
  | 'external-id'
  | 'platform-webhooks'
  | 'retention'
  | 'audit'

export type Engine = {
  /**
   * Runs a command in its own transaction and resolves when the transaction is durable. If `of` is set, the command
   * waits for other commands on the same account. The command may run again from its start.
   */
  run<Value>(command: (tx: Tx) => Op<Value>, of?: AccountOf): Promise<Value>
  /** Remembers the owner of a task or turn, so that its commands wait for other commands on the owner's account. */
  noteOwner(id: string, userId: string): void
  dropOwner(id: string): void
  /** Number of commands that upkeep may run concurrently. */
  readonly atOnce: number
  /** Runs a read. If `listOf` is set to a user id, the read waits for this user's other list reads. */
  read<Value>(read: (on: Reads) => Op<Value> | Answer<Value>, listOf?: string): Promise<Value>
  /**
   * Finds a credential by token hash. The result includes all changes by this process, but can miss changes that other
   * processes made in the last millisecond.
   */
  holderOf<Holder>(
    of: Holding,
    read: (on: Reads, tokenHash: string) => Answer<Holder | undefined>,
  ): (tokenHash: string) => Promise<Holder | undefined>
  /**
   * Reads a user's task. The result includes all changes by this process, but can miss changes that other processes
   * made in the last millisecond. Reads of an unchanged task may return the same frozen object.
   */
  taskOf(
    read: (on: Reads, of: TaskOf) => Answer<TaskRecord | undefined>,
  ): (of: TaskOf) => Promise<TaskRecord | undefined>
}
