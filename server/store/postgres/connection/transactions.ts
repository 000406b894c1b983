import type { Clock } from '../../../kernel/clock.ts'
import { ErrandError } from '../../../kernel/errors.ts'
import { FairPlaces } from '../../../kernel/fair-places.ts'
import type { AccountOf } from '../../commands/command.ts'
import type { Committed } from '../../committed.ts'
import { AccountLanes } from './account-lanes.ts'
import { Connection } from './pooled-connection.ts'
import { writeCounters } from '../counters.ts'
import { afterFailure, failureBehind, type PgClient, type PgPool } from './driver.ts'
import { codeOf, isLostConnection, isRefusedByServer } from './pg-errors.ts'
import { Transaction } from './transaction.ts'

// Runs all transactions of the store. The isolation level is READ COMMITTED. A command locks its account first, so it
// sees the state after the previous command on that account, and never acts on an older snapshot.
//
//   BEGIN ──▶ work ──▶ counters ──▶ COMMIT ──▶ answered
//     ▲        │                      │ no answer
//     │        │ 40001, 40P01         ├─▶ its row exists ──▶ answered
//     └────────┴──────────────────────┴─▶ it does not: nothing was written, start again

const attemptsMax = 8
const listsWaitingMax = 100
/**
 * Maximum number of connections for list reads. The total is smaller than the pool, so that lists never use all
 * connections.
 */
const listBounds = { perUser: 3, total: 8 }
/** 40001 is a serialization failure, 40P01 a deadlock. */
const retried = new Set(['40001', '40P01'])
/** SQLSTATE if a row was created after the command looked for it. */
const uniqueViolation = '23505'
/** SQLSTATE if the server has become a read-only standby. */
const readOnly = '25006'

type TransactionsOptions = {
  clock: Clock | undefined
  onCommit?: (commit: Committed) => void
  onCommitted: (transaction: Transaction) => void
  silentMs?: number
}

type Attempt<Value> = { value: Value } | { again: unknown }

export class Transactions {
  readonly #pool: PgPool
  readonly #options: TransactionsOptions
  readonly #running = new Set<Promise<unknown>>()
  readonly #long = new Set<PgClient>()
  #isClosing = false
  readonly lanes = new AccountLanes()
  /** Connection slots for list reads, which can be slow with some filters. */
  readonly #lists = new FairPlaces(listBounds)
  #isFailing = false

  constructor(pool: PgPool, options: TransactionsOptions) {
    this.#pool = pool
    this.#options = options
  }

  /** Whether the last transaction failed or has an unknown outcome. */
  get isFailing(): boolean {
    return this.#isFailing
  }

  /**
   * Resolves when the command is committed. `work` must not keep state outside the transaction, because it runs again
   * if the server rolls the transaction back.
   */
  run<Value>(work: (tx: Transaction) => Promise<Value>, of?: AccountOf): Promise<Value> {
    const run = () => this.#run(work)
    return this.#tracked(of ? this.lanes.of(of, run) : run())
  }

  /**
   * Runs reads on one connection, each with its own snapshot. If `listOf` is a user id, the read waits for one of that
   * user's list slots.
   */
  read<Value>(work: (connection: Connection) => Promise<Value>, listOf?: string): Promise<Value> {
    const read = () => this.#read(work, { mayTakeLong: false })
    return this.#tracked(listOf === undefined ? read() : this.#list(listOf, read))
  }

  async #list<Value>(userId: string, read: () => Promise<Value>): Promise<Value> {
    if (this.#lists.waiting(userId) < listsWaitingMax) return await this.#lists.within(userId, undefined, read)
    const message = 'This account is reading too many lists at the same time. Send fewer requests in parallel.'
    throw new ErrandError('SERVICE_UNAVAILABLE', message, { retryAfterSeconds: 1 })
  }

  /** Like `read`, but for whole tables. `settled` does not wait for such a read but closes its connection. */
  async readAll<Value>(work: (connection: Connection) => Promise<Value>): Promise<Value> {
    return await this.#read(work, { mayTakeLong: true })
  }

  async settled(): Promise<void> {
    this.#isClosing = true
    for (const client of this.#long) client.connection.stream.destroy()
    while (this.#running.size > 0) await Promise.allSettled(this.#running)
  }

  #tracked<Value>(run: Promise<Value>): Promise<Value> {
    this.#running.add(run)
    void this.#forgetAfter(run)
    return run
  }

  async #forgetAfter(run: Promise<unknown>): Promise<void> {
    await Promise.allSettled([run])
    this.#running.delete(run)
  }

  /** Retries once if the connection is lost, because the server may have restarted since the last read. */
  async #read<Value>(
    work: (connection: Connection) => Promise<Value>,
    { isSecond = false, mayTakeLong }: { isSecond?: boolean; mayTakeLong: boolean },
  ): Promise<Value> {
    const client = await this.#connect()
    const watch = mayTakeLong ? undefined : this.#endIfSilent(client)
    if (mayTakeLong) this.#long.add(client)
    let isLost = false
    try {
      if (mayTakeLong) await client.query('SET statement_timeout = 0')
      return await work(new Connection(client, this.#options.clock))
    } catch (error) {
      isLost = isLostConnection(error)
      if (!isLost && !isRefusedByServer(error)) throw error
      if (!isLost || isSecond || this.#isClosing) throw unavailable('Could not read the database. Try again.', error)
    } finally {
      clearTimeout(watch)
      this.#long.delete(client)
      // A long read has changed the settings of the connection, so close it.
      client.release(isLost || mayTakeLong)
    }
    return await this.#read(work, { isSecond: true, mayTakeLong })
  }

  async #run<Value>(work: (tx: Transaction) => Promise<Value>): Promise<Value> {
    for (let attempt = 1; ; attempt++) {
      const startedAt = performance.now()
      const outcome = await this.#attempt(work, startedAt)
      if ('value' in outcome) return outcome.value
      const { again } = outcome
      if (codeOf(again) === uniqueViolation && attempt > 1) throw again
      if (attempt === attemptsMax) throw unavailable('The database is busy, so nothing was changed. Try again.', again)
      await pause(Math.random() * 5 * 2 ** attempt)
    }
  }

  async #attempt<Value>(work: (tx: Transaction) => Promise<Value>, startedAt: number): Promise<Attempt<Value>> {
    const client = await this.#connect()
    const watch = this.#endIfSilent(client)
    try {
      return await this.#attemptOn(client, work, startedAt)
    } finally {
      clearTimeout(watch)
    }
  }

  async #attemptOn<Value>(
    client: PgClient,
    work: (tx: Transaction) => Promise<Value>,
    startedAt: number,
  ): Promise<Attempt<Value>> {
    const tx = new Transaction(client, this.#options.clock)
    let value: Value
    try {
      // Pipelined with the first query of `work`.
      void tx.write({ text: 'BEGIN ISOLATION LEVEL READ COMMITTED' })
      value = await work(tx)
      writeCounters(tx)
    } catch (error) {
      return await this.#undone(client, failureBehind(client, error))
    }
    const commitsAt = performance.now()
    const failure = await commit(client)
    if (failure) {
      const isUnknown = codeOf(failure.error) === '' || isLostConnection(failure.error)
      if (!isUnknown) return await this.#undone(client, failureBehind(client, failure.error))
      client.release(true)
      this.#isFailing = true
      if (!(await this.#tookPlace(tx, failure.error))) return { again: failure.error }
    } else client.release()
    if (tx.unsent !== undefined)
      throw new Error('Could not send a statement to the database. Try again.', { cause: tx.unsent })
    this.#isFailing = false
    this.#options.onCommitted(tx)
    const syncMs = performance.now() - commitsAt
    this.#options.onCommit?.({ commands: 1, isDurable: true, startedAt, syncMs })
    return { value }
  }

  async #undone(client: PgClient, error: unknown): Promise<Attempt<never>> {
    const isLost = isLostConnection(error)
    const isRolledBack = !isLost && (await client.query('ROLLBACK').then(yes, no))
    const code = codeOf(error)
    client.release(!isRolledBack || code === readOnly)
    if (isLost || retried.has(code) || code === uniqueViolation) return { again: error }
    if (!isRefusedByServer(error)) throw error
    this.#isFailing = true
    throw unavailable('Could not write to the database, so nothing was changed. Try again.', error)
  }

  /**
   * Checks whether a transaction whose COMMIT got no answer was committed. First waits for the account lock, which that
   * transaction holds until it ends.
   */
  async #tookPlace({ lockedUserId, proof }: Transaction, cause: unknown): Promise<boolean> {
    const message = 'The connection to the database was lost. Retry with the same Idempotency-Key.'
    if (!proof) throw unavailable(message, cause)
    for (let attempt = 1; attempt <= attemptsMax; attempt++) {
      let client: PgClient | undefined
      let watch: NodeJS.Timeout | undefined
      try {
        client = await this.#pool.connect()
        watch = this.#endIfSilent(client)
        const tx = new Transaction(client, this.#options.clock)
        await client.query('BEGIN')
        if (lockedUserId !== undefined) await tx.lockAccount({ userId: lockedUserId })
        const { rows } = await client.query(`SELECT 1 FROM ${proof.table} WHERE id = $1`, [proof.id])
        await client.query('ROLLBACK')
        client.release()
        return rows.length === 1
      } catch {
        client?.release(true)
        await pause(50 * 2 ** attempt)
      } finally {
        clearTimeout(watch)
      }
    }
    throw unavailable(message, cause)
  }

  async #connect(): Promise<PgClient> {
    try {
      return await this.#pool.connect()
    } catch (error) {
      this.#isFailing = true
      throw unavailable('Could not reach the database, so nothing was changed. Try again.', error)
    }
  }

  /**
   * Closes a connection if the server does not answer, so that pending queries fail. TCP takes 15 minutes to notice an
   * unreachable peer, for example after a failover.
   */
  #endIfSilent(client: PgClient): NodeJS.Timeout {
    return setTimeout(() => client.connection.stream.destroy(), this.#options.silentMs ?? silentMsMax)
  }
}

/** Default of `silentMs`. It must be longer than the lock timeout. */
export const silentMsMax = 15_000

/** Commits the transaction. Returns undefined on success, and otherwise the error. */
async function commit(client: PgClient): Promise<{ error: unknown } | undefined> {
  try {
    const { command } = await client.query('COMMIT')
    // After a failed statement, the server answers COMMIT with a rollback but without an error.
    if (command === 'COMMIT') return undefined
    return {
      error: Object.assign(new Error('The database rolled back the transaction. Try again.'), { code: afterFailure }),
    }
  } catch (error) {
    return { error }
  }
}

const yes = () => true
const no = () => false

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

function unavailable(message: string, cause: unknown): ErrandError {
  return new ErrandError('SERVICE_UNAVAILABLE', message, { retryAfterSeconds: 1, cause })
}
