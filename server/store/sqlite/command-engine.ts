import type { Database, RunResult, Statement as Prepared } from 'better-sqlite3'
import { assert, must } from '../../kernel/assert.ts'
import type { Clock } from '../../kernel/clock.ts'
import { ownTurn } from '../../kernel/own-turn.ts'
import type { Answer, Engine, Holding, Op, Reads, TaskOf, Tx } from '../commands/command.ts'
import type { AccountRow } from '../tables/account-tables.ts'
import { toEnd } from '../commands/drive.ts'
import {
  accountColumns,
  columns,
  everyStatement,
  sqlite,
  statement,
  type Statement,
  type Values,
} from '../commands/statement.ts'
import type { TaskRecord } from '../tasks/task-types.ts'
import { messageColumns, type MessageRow, type NewestRow } from '../sessions/session-records.ts'
import type { Counters } from './counters.ts'
import { ReadyAnswer } from './ready-answer.ts'
import type { GroupCommit } from './group-commit.ts'
import type { Ledger } from './ledger.ts'
import type { RateWindow } from './rate-window.ts'
import { RecentKeys, RowCaches, type RowCache } from './row-caches.ts'
import type { UsedOfLimits } from './used-of-limits.ts'

// Runs commands synchronously. better-sqlite3 returns each answer immediately, and nothing else may run between the
// commands of a commit.

const account = statement<AccountRow>('account_read', `SELECT ${accountColumns} FROM accounts WHERE user_id = :userId`)
const accountOfTask = statement<AccountRow>(
  'account_of_task',
  `SELECT ${accountColumns} FROM accounts WHERE user_id = (SELECT user_id FROM tasks WHERE id = :taskId)`,
)
const messages = statement<MessageRow>(
  'message_page',
  `SELECT ${columns(messageColumns)}
    FROM messages WHERE session_id = :sessionId ORDER BY seq LIMIT :limit OFFSET :offset`,
)
const newest = statement<NewestRow>(
  'message_newest',
  `SELECT turn_id AS "turnId", content, parts, replaces, tokens FROM messages
    WHERE session_id = :sessionId ORDER BY seq DESC`,
)

const done = new ReadyAnswer<void>(undefined)
/**
 * Maximum number of rows to skip per tick. In a list merged from several indexes, skipping them takes a few
 * milliseconds.
 */
const skippedPerTick = 10_000
const owned = new ReadyAnswer(true)
const holdersMax = 50_000
/**
 * Maximum total JSON length of the cached tasks, enough for a few thousand. The cache also contains each task's
 * response.
 */
const taskCharsMax = 4_000_000
const writesTasks = /\b(?:UPDATE(?: OR \w+)?|INTO|DELETE FROM)\s+"?tasks\b/i
const insertsTask = /^INSERT INTO tasks\b(?!.*\bON CONFLICT\b)/s
const ofOneTask = /\bWHERE id = \+?:taskId\b/

type Executed = Pick<Prepared, 'get' | 'all' | 'run'>
type EngineParts = {
  clock: Clock
  commit: GroupCommit
  counters: Counters
  ledger: Ledger
  rateWindow: RateWindow
  used: UsedOfLimits
}

export class SqliteEngine implements Engine {
  /** Unlimited, because commands in the same tick share one commit. */
  readonly atOnce = Infinity
  readonly #parts: EngineParts
  readonly #prepared = new Map<Statement<unknown>, Executed>()
  readonly #messages: Prepared
  readonly #newest: Prepared
  readonly #caches: RowCaches
  readonly #holders = new Map<Holding, RowCache<unknown>>()
  readonly #tasks: RowCache<TaskRecord>
  readonly #recentTasks = new RecentKeys()
  readonly #tx: Tx

  constructor(db: Database, parts: EngineParts) {
    this.#parts = parts
    this.#messages = db.prepare(messages.text(sqlite))
    this.#newest = db.prepare(newest.text(sqlite))
    this.#caches = new RowCaches(db)
    this.#tasks = this.#caches.add(taskCharsMax)
    for (const one of everyStatement()) {
      const prepared = db.prepare(one.text(sqlite))
      this.#prepared.set(one, changesTask(prepared) ? new TaskChange(prepared, this.#tasks) : prepared)
    }
    this.#tx = this.#transaction()
  }

  async read<Value>(read: (on: Reads) => Op<Value> | Answer<Value>): Promise<Value> {
    const op = read(this.#tx)[Symbol.iterator]()
    const first = op.next()
    if (first.done) return first.value
    // The read has paused to let other work run.
    await first.value
    return await toEnd(op)
  }

  run<Value>(command: (tx: Tx) => Op<Value>): Promise<Value> {
    return this.#parts.commit.run(() => this.#atOnce(command(this.#tx)))
  }

  noteOwner(): void {}

  dropOwner(): void {}

  holderOf<Holder>(
    of: Holding,
    read: (on: Reads, tokenHash: string) => Answer<Holder | undefined>,
  ): (tokenHash: string) => Promise<Holder | undefined> {
    const cache = this.#caches.add<Holder>(holdersMax)
    this.#holders.set(of, cache)
    return async (tokenHash) => {
      const cached = cache.get(tokenHash)
      if (cached) return cached
      const holder = this.#atOnce(read(this.#tx, tokenHash))
      if (holder) cache.set(tokenHash, holder, 1)
      return holder
    }
  }

  taskOf(read: (on: Reads, of: TaskOf) => Answer<TaskRecord | undefined>) {
    return async (of: TaskOf): Promise<TaskRecord | undefined> => {
      const cached = this.#tasks.get(of.taskId)
      if (cached) return cached.userId === of.userId ? cached : undefined
      const task = this.#atOnce(read(this.#tx, of))
      if (!task || !this.#recentTasks.see(of.taskId)) return task
      // Frozen, so that callers can cache the response that they build from this object.
      this.#tasks.set(of.taskId, Object.freeze(task), JSON.stringify(task).length)
      return task
    }
  }

  #atOnce<Value>(of: Op<Value> | Answer<Value>): Value {
    const result = of[Symbol.iterator]().next()
    assert(result.done === true, 'a command never pauses')
    return result.value
  }

  #transaction(): Tx {
    const { clock, counters, ledger, rateWindow, used } = this.#parts
    const get = <Row>(one: Statement<Row>, values: Values = {}) =>
      new ReadyAnswer(this.#statement(one).get(values) as Row | undefined)
    return {
      get,
      all: <Row>(one: Statement<Row>, values: Values = {}) =>
        new ReadyAnswer(this.#statement(one).all(values) as Row[]),
      run: (one, values = {}) => new ReadyAnswer(this.#statement(one).run(values).changes),
      send: (one, values) => void this.#statement(one).run(values),
      now: () => new ReadyAnswer(clock.now()),
      account: (userId) => get(account, { userId }),
      // Nothing to lock: a command's transaction holds the database's write lock.
      lockAccount: (of) => ('userId' in of ? get(account, of) : get(accountOfTask, of)),
      lockOwner: () => owned,
      lock: () => done,
      rate: (userId) =>
        new ReadyAnswer({
          limitMax: Infinity,
          at: (limit: number, now: number) => rateWindow.read(userId, limit, now),
        }),
      waiting: (userId) => new ReadyAnswer(used.waiting(userId)),
      used: {
        window: (of) => new ReadyAnswer(used.window(of)),
        named: (countedIn) => new ReadyAnswer(used.named(countedIn)),
        keyRate: (keyId) => new ReadyAnswer(used.keyRate(keyId)),
        add: (added) => used.add(added),
        change: (countedIn, by) => used.change(countedIn, by),
        setKeyRate: (keyId, row) => used.setKeyRate(keyId, row),
        writeOut: () => used.writeOut(),
      },
      accepted: (userId, at) => rateWindow.accepted(userId, at),
      skippedPerTick,
      pause: (userId) => new Pause(ownTurn(userId)),
      // Iterates, so that messages after the page are not read.
      fittingMessages: ({ limit, offset, sessionId }) =>
        new ReadyAnswer(this.#messages.iterate({ sessionId, limit, offset }) as Iterable<MessageRow>),
      newestMessages: (sessionId, take) => {
        const rows = this.#newest.iterate({ sessionId }) as Iterable<NewestRow>
        for (const row of rows) if (!take(row)) break
        return done
      },
      post: (posting) => new ReadyAnswer(ledger.post(posting)),
      hold: (userId, by) => ledger.hold(userId, by),
      owe: (userId, by) => ledger.owe(userId, by),
      count: (change) => {
        counters.count(change)
        used.counted(change)
      },
      made: () => {},
      holdersChanged: (of) => {
        // Every change clears the cache of client tokens, because a token becomes invalid with the key or login that
        // created it.
        const isOf = (kind: Holding) => of === 'users' || of === kind || kind === 'client-tokens'
        for (const [kind, cache] of this.#holders) if (isOf(kind)) cache.clear()
      },
    }
  }

  #statement(one: Statement<unknown>): Executed {
    return must(this.#prepared.get(one), 'every statement is prepared when the store opens')
  }
}

/** A statement that changes the task `taskId`. It evicts the task from the cache before it runs. */
class TaskChange implements Executed {
  readonly #sql: Prepared
  readonly #tasks: RowCache<TaskRecord>

  constructor(sql: Prepared, tasks: RowCache<TaskRecord>) {
    this.#sql = sql
    this.#tasks = tasks
  }

  get(values: Values): unknown {
    return this.#drop(values).get(values)
  }

  all(values: Values): unknown[] {
    return this.#drop(values).all(values)
  }

  run(values: Values): RunResult {
    return this.#drop(values).run(values)
  }

  #drop({ taskId }: Values): Prepared {
    this.#tasks.drop(taskId as string)
    return this.#sql
  }
}

/** Whether a statement can change a cached task. An INSERT cannot. */
function changesTask({ source }: Prepared): boolean {
  if (!writesTasks.test(source) || insertsTask.test(source)) return false
  assert(ofOneTask.test(source), 'a statement that changes tasks changes only `taskId`')
  return true
}

/** An answer that is not available yet. Reads can pause, but commands cannot. */
class Pause implements Answer<void> {
  readonly over: Promise<void>

  constructor(over: Promise<void>) {
    this.over = over
  }

  *[Symbol.iterator](): Generator<unknown, void, unknown> {
    yield this.over
  }

  map(): never {
    throw new Error('a pause has no value to map')
  }
}
