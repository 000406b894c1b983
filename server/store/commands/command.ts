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

// Commands are written once, as generators, and each engine drives them in its own way. SQLite runs each to completion
// synchronously, because no other work may run between the commands of a commit. PostgreSQL awaits each answer.

export type Op<Value> = Generator<unknown, Value, unknown>

/**
 * A pending database answer. Creating one issues the query; `yield*` awaits the answer. Queries issued before the first
 * await are pipelined into one round trip.
 */
export type Answer<Value> = {
  [Symbol.iterator](): Iterator<unknown, Value, unknown>
  /** Transforms the value. Lets a frequent read with one answer do without a generator. */
  map<Next>(make: (value: Value) => Next): Answer<Next>
}

/** Identifies an account by its user, or by a task or turn, whose owner never changes. */
export type AccountOf = { userId: string } | { taskId: string } | { turnId: string }

/** A row whose existence proves that a transaction was committed, because only that transaction creates it. */
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
   * Set if a platform key credits or debits: JSON object from the key's id to the day whose ceiling the amount counts
   * toward.
   */
  countedIn?: string | undefined
  /** For a chat charge: the hold to release, and the account's new carry-over. */
  settles?: { held: Units; carried: number }
  now: EpochMs
}

/** Times of a user's newest executions, up to the requested number. */
export type RateRead = {
  /** Highest limit this read can answer for. A higher limit needs another read. */
  readonly limitMax: number
  at(limit: number, now: EpochMs): RateState
}

export type UsedReads = {
  window(of: WindowOf): Answer<WindowRow | undefined>
  /** Returns those windows that exist, of the ones named in `countedIn` (a JSON object from owner to period start). */
  named(countedIn: string): Answer<WindowRow[]>
  keyRate(keyId: string): Answer<KeyRateRow | undefined>
}

/**
 * Changes to limit usage, for a locked account. A command that would take a window below zero or above its limit is
 * rolled back.
 */
export type UsedChanges = {
  /** Creates the window if this is its first entry. */
  add(added: AddedToWindow): void
  change(countedIn: string, by: Spent): void
  setKeyRate(keyId: string, row: KeyRateRow): void
  /** Flushes pending changes. Call it before a statement that changes or deletes rows of limit usage directly. */
  writeOut(): void
}

export type Reads = {
  get<Row>(statement: Statement<Row>, values?: Values): Answer<Row | undefined>
  all<Row>(statement: Statement<Row>, values?: Values): Answer<Row[]>
  /**
   * Returns the current time. If the command has locked an account, the time was taken after the lock, so it is never
   * earlier than the time in a previous command on that account.
   */
  now(): Answer<EpochMs>
  /** Reads without a lock. In a command that has locked the account, the result includes the command's own changes. */
  account(userId: string): Answer<AccountRow | undefined>
  /**
   * Reads a user's rate window. `limit` is how many executions to read; the time and the limit to apply can be chosen
   * later.
   */
  rate(userId: string, limit: number): Answer<RateRead>
  readonly used: UsedReads
  /** Number of a user's queued tasks. In a command that has locked the account, includes the command's own changes. */
  waiting(userId: string): Answer<number>
  /** Max rows to skip per event-loop tick when paging by offset. */
  readonly passedAtOnce: number
  pause(userId: string): Answer<void>
  /** Returns as many messages from the start of the page as fit in `bytesMax`, at least one. */
  fittingMessages(of: {
    sessionId: string
    limit: number
    offset: number
    bytesMax: number
  }): Answer<Iterable<MessageRow>>
  /** Passes a session's messages to `take`, newest first, until `take` returns false. */
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
 * Database access of a command: a transaction. All commands take locks in the same order, so that they cannot deadlock.
 * A command locks one account first, then the session, then the task or turn.
 */
export type Tx = Reads & {
  readonly used: UsedChanges
  /** Returns the number of changed rows. */
  run(statement: Statement<never>, values?: Values): Answer<number>
  /** Runs a statement without awaiting its answer. If it fails, the command is rolled back. */
  send(statement: Statement<never>, values: Values): void
  /**
   * Locks and returns the account. No other command can change it before this command ends. Undefined if it does not
   * exist.
   */
  lockAccount(of: { userId: string } | { taskId: string }): Answer<AccountRow | undefined>
  /** Locks the account of a task's or turn's user. Returns false if the task or turn does not exist. */
  lockOwner(of: { taskId: string } | { turnId: string }): Answer<boolean>
  /** Serializes commands that lock the same string of the same kind. */
  lock(kind: LockKind, text?: string): Answer<void>
  /**
   * The only writer of balances, for a locked account. A CHECK rolls the command back if the balance would fall below
   * the hold.
   */
  post(posting: Posting): Answer<{ id: string; balance: Units }>
  /**
   * Changes the hold of a locked account by `by`. A CHECK rolls the command back if the balance would not cover the
   * hold.
   */
  hold(userId: string, by: Units): void
  /** Changes the debt of a locked account by `by`. */
  owe(userId: string, by: Units): void
  /** Changes a counter. Counters are written once, at the end. */
  count(change: CounterChange): void
  /** Records an accepted execution of a user whose rate window was read. */
  accepted(userId: string, at: EpochMs): void
  /**
   * Registers a row that exists only if the COMMIT succeeded, in case the response is lost. One row per command is
   * enough.
   */
  made(row: MadeRow): void
  /**
   * Reports a change to the data that credentials of this kind are checked against. A change to `users` affects every
   * kind.
   */
  holdersChanged(of: Holding | 'users'): void
}

export type TaskOf = { userId: string; taskId: string }

/** Kinds of credentials that have a token. */
export type Holding = 'keys' | 'logins' | 'platform-keys' | 'client-tokens'

/**
 * Advisory lock namespaces: the admin set, login attempts by email and by client, SSO identities, platform user ids,
 * webhooks of the platform, the retention of tasks, the audit log.
 */
export type LockKind =
  | 'admins'
  | 'login-email'
  | 'login-client'
  | 'identity'
  | 'external-id'
  | 'platform-webhooks'
  | 'retention'
  | 'audit'

/** Runs the commands that both engines share. Each engine implements this type. */
export type Engine = {
  /**
   * Runs a command in its own transaction and resolves when the transaction is durable. If `of` is set, queues the
   * command behind the account's other commands. May rerun the command from its start.
   */
  run<Value>(command: (tx: Tx) => Op<Value>, of?: AccountOf): Promise<Value>
  /** Records the owner of a task or turn, so that its commands are queued behind the owner's other commands. */
  noteOwner(id: string, userId: string): void
  /** Forgets the owner of an ended task or turn. */
  dropOwner(id: string): void
  /** Number of commands that upkeep runs concurrently. */
  readonly atOnce: number
  /** Runs a read. If `listOf` is the id of a user, the read queues behind this user's other list reads. */
  read<Value>(read: (on: Reads) => Op<Value> | Answer<Value>, listOf?: string): Promise<Value>
  /**
   * Reads the data that a credential is checked against, by token hash. Includes all changes by this process, and those
   * by other processes up to a millisecond ago.
   */
  holderOf<Holder>(
    of: Holding,
    read: (on: Reads, tokenHash: string) => Answer<Holder | undefined>,
  ): (tokenHash: string) => Promise<Holder | undefined>
  /**
   * Reads a user's task. Includes all changes by this process, and those by other processes up to a millisecond ago.
   * Reads of an unchanged task can return the same object, which is then frozen.
   */
  taskOf(
    read: (on: Reads, of: TaskOf) => Answer<TaskRecord | undefined>,
  ): (of: TaskOf) => Promise<TaskRecord | undefined>
}
