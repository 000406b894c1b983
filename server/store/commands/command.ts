import type { EpochMs } from '../../kernel/clock.ts'
import type { Units } from '../../kernel/money.ts'
import type { ChatBreakdown, RateState, TransactionType } from '../records.ts'
import type { MessageRow, NewestRow } from '../session-records.ts'
import type { AccountRow } from '../tables/account-tables.ts'
import type { AddedToWindow, KeyRateRow, Spent, WindowOf, WindowRow } from './limits/used-rows.ts'
import type { Statement, Values } from './statement.ts'

// Commands are written once, as generators, and each engine drives them in its own way: SQLite to their end at once,
// since nothing may come between the commands of a commit, and PostgreSQL from one answer to the next.

/** A running command or read, with what it returns. */
export type Op<Value> = Generator<unknown, Value, unknown>

/**
 * A pending answer of the database, issued when it is made; `yield*` awaits it. Several that are issued before the
 * first is awaited are pipelined: they cost one round trip.
 */
export type Answer<Value> = {
  [Symbol.iterator](): Iterator<unknown, Value, unknown>
  /** What is made of it. A read of one answer that is made often is spared a generator by this. */
  map<Next>(make: (value: Value) => Next): Answer<Next>
}

/** Whose account: a user's, or that of the user to whom a task or a turn belongs, which never changes. */
export type AccountOf = { userId: string } | { taskId: string } | { turnId: string }

/** A row that shows whether a transaction was committed: nobody but the transaction makes it. */
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

/** A change of a balance. */
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
  /** For a platform key's credit, or what it takes back: the day that it counts in, by the key's id. */
  countedIn?: string | undefined
  /** Of the account that is charged: how much less it holds from now on, and what it carries. */
  settles?: { held: Units; carried: number }
  now: EpochMs
}

/** A user's newest executions, as many as were asked for. */
export type RateRead = {
  /** For a higher limit it must be read anew. */
  readonly limitMax: number
  at(limit: number, now: EpochMs): RateState
}

/** What is used of limits. */
export type UsedReads = {
  window(of: WindowOf): Answer<WindowRow | undefined>
  /** Of a JSON object of beginnings by owner, the windows that are still there. */
  named(countedIn: string): Answer<WindowRow[]>
  keyRate(keyId: string): Answer<KeyRateRow | undefined>
}

/** Of an account that is locked. A command that would take a window below zero or above its limit is undone. */
export type UsedChanges = {
  /** Makes the window where this is the first in it. */
  add(added: AddedToWindow): void
  change(countedIn: string, by: Spent): void
  setKeyRate(keyId: string, row: KeyRateRow): void
  /** Before a statement of the command that changes or removes such rows itself. */
  writeOut(): void
}

/** What a read is made with. */
export type Reads = {
  get<Row>(statement: Statement<Row>, values?: Values): Answer<Row | undefined>
  all<Row>(statement: Statement<Row>, values?: Values): Answer<Row[]>
  /** In a command that has locked an account: the time after that, which no earlier command on the account has passed. */
  now(): Answer<EpochMs>
  /** As it is, without a lock; in a command that has locked it, as the command has left it. */
  account(userId: string): Answer<AccountRow | undefined>
  /** The rate window of a user, at a time and for a limit that need not be known yet; told how many of them may count. */
  rate(userId: string, limit: number): Answer<RateRead>
  readonly used: UsedReads
  /** How many tasks of a user wait; as `account`, in a command that has locked that. */
  waiting(userId: string): Answer<number>
  /** Of a list, how many rows are skipped in one tick. */
  readonly passedAtOnce: number
  pause(userId: string): Answer<void>
  /** The first messages of the page that have no more bytes than that, and at least one. */
  fittingMessages(of: {
    sessionId: string
    limit: number
    offset: number
    bytesMax: number
  }): Answer<Iterable<MessageRow>>
  /** A session's messages, newest first, until `take` is false. */
  newestMessages(sessionId: string, take: (message: NewestRow) => boolean): Answer<void>
}

/** A change of a counter: of a user's tasks by agent and status, of transactions by type, of what was written off. */
export type CounterChange = {
  userId: string
  kind: 'task' | 'transaction' | 'written-off'
  part: string
  status: string
  by: number
}

/**
 * What a command is made with: a transaction. Locks are taken in one order, so that commands wait for each other and
 * never in a circle: the account first and alone, then the session, then the task or turn.
 */
export type Tx = Reads & {
  readonly used: UsedChanges
  /** How many rows it changed. */
  run(statement: Statement<never>, values?: Values): Answer<number>
  /** A statement whose answer nobody needs; where it fails, the command is undone. */
  send(statement: Statement<never>, values: Values): void
  /** The account, which no other command changes before this one has ended; undefined when there is none. */
  lockAccount(of: { userId: string } | { taskId: string }): Answer<AccountRow | undefined>
  /** The account of the user to whom a task or a turn belongs; false when there is none. */
  lockOwner(of: { taskId: string } | { turnId: string }): Answer<boolean>
  /** Commands that lock the same text of the same kind run one after another. */
  lock(kind: LockKind, text?: string): Answer<void>
  /**
   * The only writer of balances, of an account that is locked. Its CHECK undoes the command where the balance would be
   * below what is held.
   */
  post(posting: Posting): Answer<{ id: string; balance: Units }>
  /** Holds more of the balance of an account that is locked, or less. Its CHECK undoes the command where it is not there. */
  hold(userId: string, by: Units): void
  /** Adds to what an account that is locked owes, or takes from it. */
  owe(userId: string, by: Units): void
  /** Counters are written once, at the end. */
  count(change: CounterChange): void
  /** An execution of a user whose rate window was read is accepted. */
  accepted(userId: string, at: EpochMs): void
  /** By this row it is found out whether a COMMIT whose answer was lost took place; the first one is enough. */
  made(row: MadeRow): void
  /** What keys are checked against has changed, or logins, or what both are: a user. */
  holdersChanged(of: Holding | 'users'): void
}

/** Whose token a credential's is. */
export type Holding = 'keys' | 'logins' | 'platform-keys' | 'client-tokens'

/**
 * Of the admins, of an address or a client that tries to log in, of an identity at a provider, and of a product's id of a
 * user.
 */
export type LockKind = 'admins' | 'login-email' | 'login-client' | 'identity' | 'external-id'

/** How an engine runs what is written once. */
export type Engine = {
  /**
   * Runs a command in a transaction of its own and answers when that is durable. Where an account is named, queued with
   * its other commands. It may be run again from its start.
   */
  run<Value>(command: (tx: Tx) => Op<Value>, of?: AccountOf): Promise<Value>
  /** Whose a task or turn is, so that its commands are queued with its owner's. */
  know(id: string, userId: string): void
  /** It has ended. */
  forget(id: string): void
  /** How many commands upkeep gives it concurrently. */
  readonly atOnce: number
  /** Where a user is named, queued with the user's other lists. */
  read<Value>(read: (on: Reads) => Op<Value> | Answer<Value>, listOf?: string): Promise<Value>
  /** Reads what a credential is checked against, by the hash of its token; never older than the last commit of any process. */
  holderOf<Holder>(
    of: Holding,
    read: (on: Reads, tokenHash: string) => Answer<Holder | undefined>,
  ): (tokenHash: string) => Promise<Holder | undefined>
}
