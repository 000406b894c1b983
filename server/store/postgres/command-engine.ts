import type { AccountOf, Answer, Engine, Holding, LockKind, Op, Reads, TaskOf, Tx } from '../commands/command.ts'
import { resultOf } from '../commands/drive.ts'
import { columns, postgres, Statement, type Values } from '../commands/statement.ts'
import type { TaskRecord } from '../tasks/task-types.ts'
import { messageColumns, type MessageRow, type NewestRow } from '../sessions/session-records.ts'
import { readAccountRow } from './connection/account-lock.ts'
import type { PgQuery } from './connection/driver.ts'
import type { Ledger } from './ledger.ts'
import type { Connection } from './connection/pooled-connection.ts'
import { usedChanges, usedReads } from './limit-statements.ts'
import { readRate } from './nodes/rate-window.ts'
import type { Transaction } from './connection/transaction.ts'
import type { Transactions } from './connection/transactions.ts'

// Queries are pipelined: all queries that a command issues before it awaits an answer share one round trip.

class PendingAnswer<Value> implements Answer<Value> {
  readonly value: Promise<Value>

  constructor(value: Promise<Value>) {
    this.value = value
    // A command that fails on one answer never awaits the later ones. Their rejections must not crash the process.
    value.catch(ignore)
  }

  *[Symbol.iterator](): Generator<unknown, Value, unknown> {
    return (yield this.value) as Value
  }

  map<Next>(make: (value: Value) => Next): PendingAnswer<Next> {
    return new PendingAnswer<Next>(this.value.then(make))
  }
}

const ignore = () => {}
const none = new PendingAnswer<void>(Promise.resolve())

type Written = Statement<unknown> | { name: string; text: string }
type Sendable = { text: string; names: readonly string[] }
const sendable = new WeakMap<Written, Sendable>()

/** Replaces each `:name` with a positional parameter such as `$1`. */
function sendableOf(one: Written): Sendable {
  let known = sendable.get(one)
  if (!known) {
    const names: string[] = []
    const written = one instanceof Statement ? one.text(postgres) : one.text
    const text = written.replaceAll(/:([a-z]\w*)/gi, (_, name: string) => {
      if (!names.includes(name)) names.push(name)
      return `$${names.indexOf(name) + 1}`
    })
    sendable.set(one, (known = { text, names }))
  }
  return known
}

function queryOf(one: Written, values: Values = {}): PgQuery {
  const { names, text } = sendableOf(one)
  const given = names.map((name) => {
    const value = values[name]
    // The driver would send undefined as NULL.
    if (value === undefined) throw new TypeError(`Statement ${one.name} is missing the value ${name}.`)
    return value
  })
  return { name: one.name, text, values: given }
}

const lockNumbers: Record<LockKind, number> = {
  admins: 7015,
  'login-email': 7016,
  'login-client': 7017,
  identity: 7018,
  'external-id': 7019,
  'platform-webhooks': 7020,
  retention: 7021,
  audit: 7022,
  'sign-ups': 7023,
}
const lock = { name: 'command_lock', text: 'SELECT pg_advisory_xact_lock($1, $2)' }
const lockText = { name: 'command_lock_text', text: 'SELECT pg_advisory_xact_lock($1, hashtext($2))' }

// The database server adds up string lengths and returns only the messages that fit. It knows the lengths without
// reading the strings.
const fits = '(upto <= :bytesMax OR place = 1)'
const bytesSoFar = (
  order: string,
) => `sum(octet_length(content) + coalesce(octet_length(tool_calls), 0) + coalesce(octet_length(parts), 0)) OVER (${order}) AS upto,
    row_number() OVER (${order}) AS place`
const fittingMessages = {
  name: 'message_fitting',
  text: `SELECT ${columns(messageColumns)}
    FROM (SELECT *, ${bytesSoFar('ORDER BY seq')}
      FROM (SELECT * FROM messages WHERE session_id = :sessionId ORDER BY seq LIMIT :limit OFFSET :offset) AS page)
      AS summed
    WHERE ${fits} ORDER BY seq`,
}
const newestMessages = {
  name: 'message_newest_fitting',
  text: `SELECT seq, turn_id AS "turnId", content, parts, replaces, tokens, rows
    FROM (SELECT *, count(*) OVER () AS rows, ${bytesSoFar('ORDER BY seq DESC')}
      FROM (SELECT seq, turn_id, content, parts, replaces, tokens, NULL AS tool_calls FROM messages
        WHERE session_id = :sessionId AND seq < :beforeSeq ORDER BY seq DESC LIMIT :limit) AS page) AS summed
    WHERE ${fits} ORDER BY seq DESC`,
}
/** Maximum number of rows and bytes per history query. */
const newestPage = { limit: 100, bytesMax: 4 * 1024 * 1024 }
/** `rows` is the number of rows on the page before truncation. */
type NewestPageRow = NewestRow & { seq: number; rows: number }

const waiting = {
  name: 'counter_waiting',
  text: `SELECT CAST(coalesce(sum(count), 0) AS bigint) AS count FROM counters
    WHERE user_id = :userId AND kind = 'task' AND status = 'pending'`,
}

function readsOn(connection: Connection): Reads {
  const { client } = connection
  const rowsOf = async <Row>(one: Written, values?: Values) => (await client.query(queryOf(one, values))).rows as Row[]
  const takeNewest = async (sessionId: string, take: (message: NewestPageRow) => boolean) => {
    let beforeSeq = Number.MAX_SAFE_INTEGER
    for (;;) {
      const rows = await rowsOf<NewestPageRow>(newestMessages, { sessionId, beforeSeq, ...newestPage })
      const isLast = rows.length < newestPage.limit && rows.length === (rows[0]?.rows ?? 0)
      if (!rows.every(take) || isLast) return
      beforeSeq = rows.at(-1)!.seq
    }
  }
  const rows = {
    get: <Row>(one: Statement<Row>, values?: Values) =>
      new PendingAnswer(rowsOf<Row>(one, values).then(([row]) => row)),
    all: <Row>(one: Statement<Row>, values?: Values) => new PendingAnswer(rowsOf<Row>(one, values)),
  }
  return {
    ...rows,
    used: usedReads(rows),
    now: () => new PendingAnswer(connection.now()),
    account: (userId) => new PendingAnswer(readAccountRow(client, userId)),
    rate: (userId, limit) => new PendingAnswer(readRate(connection, userId, limit)),
    waiting: (userId) =>
      new PendingAnswer<number>(rowsOf<{ count: number }>(waiting, { userId }).then(([row]) => row?.count ?? 0)),
    // Unlimited, because the database server skips rows without blocking this process, and cancels slow statements.
    skippedPerTick: Infinity,
    pause: () => none,
    fittingMessages: (of) => new PendingAnswer(rowsOf<MessageRow>(fittingMessages, of)),
    newestMessages: (sessionId, take) => new PendingAnswer(takeNewest(sessionId, take)),
  }
}

type EngineParts = { all: Transactions; ledger: Ledger }

function transactionOn(tx: Transaction, { ledger }: EngineParts): Tx {
  const { client } = tx
  const reads = readsOn(tx)
  const send = (one: Statement<never>, values: Values) => void tx.write(queryOf(one, values))
  return {
    ...reads,
    used: { ...reads.used, ...usedChanges({ send }) },
    account: () => new PendingAnswer(Promise.resolve(tx.account)),
    run: (one, values) =>
      new PendingAnswer<number>(client.query(queryOf(one, values)).then(({ rowCount }) => rowCount ?? 0)),
    send,
    lockAccount: (of) => new PendingAnswer(tx.lockAccount(of)),
    lockOwner: (of) => new PendingAnswer<boolean>(tx.lockAccount(of).then((account) => account !== undefined)),
    lock: (kind, text) => {
      const number = lockNumbers[kind]
      const query = text === undefined ? { ...lock, values: [number, 1] } : { ...lockText, values: [number, text] }
      return new PendingAnswer(client.query(query).then(ignore))
    },
    post: ({ userId: _, ...posting }) => new PendingAnswer(Promise.resolve(ledger.post(tx, posting))),
    hold: (_, by) => ledger.hold(tx, by),
    owe: (_, by) => ledger.owe(tx, by),
    count: (change) => void tx.changes.push(change),
    // Nothing to record: every admission reads the rate window from the rows.
    accepted: ignore,
    made: (row) => tx.made(row),
    // Nothing to do: credentials are not cached, so a change applies to the next request on every node.
    holdersChanged: ignore,
  }
}

export class PostgresEngine implements Engine {
  /** Leaves most of the connection pool to other commands. */
  readonly atOnce = 4
  readonly #parts: EngineParts

  constructor(parts: EngineParts) {
    this.#parts = parts
  }

  read<Result>(read: (on: Reads) => Op<Result> | Answer<Result>, listOf?: string): Promise<Result> {
    return this.#parts.all.read((connection) => resultOf(read(readsOn(connection))), listOf)
  }

  /** Runs several reads on one snapshot. `work` may wait between them. */
  async readSnapshot(work: (read: Engine['read']) => Promise<void>): Promise<void> {
    let hasBegun = false
    await this.#parts.all.readAll(async (connection) => {
      const { client } = connection
      // Prevent `readAll` from retrying after a lost connection, because `work` has already passed on results.
      if (hasBegun) throw new Error('The connection to the database was lost. Try again.')
      await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
      await client.query('SET LOCAL idle_in_transaction_session_timeout = 0')
      hasBegun = true
      await work((read) => resultOf(read(readsOn(connection))))
    })
  }

  run<Result>(command: (tx: Tx) => Op<Result>, of?: AccountOf): Promise<Result> {
    return this.#parts.all.run((tx) => resultOf(command(transactionOn(tx, this.#parts))), of)
  }

  noteOwner(id: string, userId: string): void {
    this.#parts.all.lanes.noteOwner(id, userId)
  }

  dropOwner(id: string): void {
    this.#parts.all.lanes.dropOwner(id)
  }

  holderOf<Holder>(
    _of: Holding,
    read: (on: Reads, tokenHash: string) => Answer<Holder | undefined>,
  ): (tokenHash: string) => Promise<Holder | undefined> {
    return (tokenHash) => this.read((on) => read(on, tokenHash))
  }

  taskOf(read: (on: Reads, of: TaskOf) => Answer<TaskRecord | undefined>) {
    return (of: TaskOf) => this.read((on) => read(on, of))
  }
}
