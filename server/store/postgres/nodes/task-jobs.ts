import { hash } from 'node:crypto'
import { PgBoss } from 'pg-boss'
import type { Connection } from '../connection/pooled-connection.ts'
import { openPool } from '../connection/database.ts'
import type { PgPool, PgQuery } from '../connection/driver.ts'
import type { Transaction } from '../connection/transaction.ts'

// Each queued task has a pg-boss job, made in the transaction that queues it. The job only tells that there is something
// to take: it is deleted in the transaction that puts a node's lease on the task, and all that counts from there on is on
// the task's row. So a job is never retried, never runs for long, and nothing but the lease is left behind by a node
// that dies.

const queue = 'tasks'
const schema = 'errand_jobs'
/** A task waits as long as it must: pg-boss would delete its job after two weeks. */
const retentionSeconds = 50 * 365 * 86_400

/** As pg-boss asks for it. */
// oxlint-disable-next-line typescript/no-explicit-any
type Answer = { rows: any[] }
type Executor = { executeSql: (text: string, values?: unknown[]) => Promise<Answer> }

export class TaskJobs {
  readonly #boss: PgBoss
  readonly #pool: PgPool

  private constructor(boss: PgBoss, pool: PgPool) {
    this.#boss = boss
    this.#pool = pool
  }

  /** Makes pg-boss's tables where there are none; `onFault` is told of what its upkeep could not do. */
  static async open(databaseUrl: string, onFault: (error: Error) => void): Promise<TaskJobs> {
    // What pg-boss asks of its own accord, in the midst of a transaction too, has a connection of its own: when every
    // connection of the store's pool was in a transaction that waited for another one, none would be free for it.
    const pool = openPool(databaseUrl, 1)
    try {
      return await TaskJobs.#start(pool, onFault)
    } catch (error) {
      await pool.end()
      throw error
    }
  }

  static async #start(pool: PgPool, onFault: (error: Error) => void): Promise<TaskJobs> {
    const db: Executor = { executeSql: (text, values) => execute(pool, text, values) }
    const boss = new PgBoss({ db, schema, schedule: false })
    boss.on('error', onFault)
    try {
      await boss.start()
      // A notification within a transaction would make all commits wait for each other, so signals are sent after it.
      await boss.createQueue(queue, { policy: 'standard', retryLimit: 0, retentionSeconds, notify: false })
    } catch (error) {
      // Its timers would keep the process.
      await boss.stop({ graceful: false, close: false })
      throw error
    }
    return new TaskJobs(boss, pool)
  }

  /** In the transaction that queues the task. Resolves when the statement is on its way. */
  async send(tx: Transaction, taskId: string): Promise<void> {
    const { promise: isSent, resolve, reject } = Promise.withResolvers<void>()
    const executeSql = (text: string, values: unknown[] = []) => {
      const answer = tx.write(named(text, values))
      resolve()
      return answer
    }
    this.#boss.send(queue, { taskId }, { id: jobId(taskId), db: { executeSql } }).catch(reject)
    await isSent
  }

  /** Takes up to `limit` jobs out of the queue, oldest first; the ids of their tasks. */
  async take(tx: Transaction, limit: number): Promise<string[]> {
    const db = databaseOf(tx)
    const jobs = await this.#boss.fetch<{ taskId: string }>(queue, { batchSize: limit, db })
    if (jobs.length === 0) return []
    const ids = jobs.map(({ id }) => id)
    await this.#boss.deleteJob(queue, ids, { db })
    return jobs.map(({ data }) => data.taskId)
  }

  async close(): Promise<void> {
    const stopped = this.#boss.stop({ graceful: false, close: false }).then(() => this.#pool.end())
    // Its upkeep may wait for a server that has gone silent, which must not keep the node.
    await Promise.race([stopped, new Promise((resolve) => setTimeout(resolve, closeMsMax).unref())])
  }
}

// A job's id is made of its task's, so that the one is found by the other in an index, and a task has one job at most.
function jobId(taskId: string): string {
  const hex = hash('sha256', taskId)
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join('-')
}
const jobIdOfTask = `left(encode(sha256(convert_to(tasks.id, 'UTF8')), 'hex'), 32)::uuid`

/** Of the tasks that wait, as an SQL condition: no job tells of them. */
export const hasNoJob = `NOT EXISTS (SELECT 1 FROM ${schema}.job WHERE name = '${queue}' AND job.id = ${jobIdOfTask})`

function databaseOf({ client }: Connection): Executor {
  return { executeSql: (text, values) => execute(client, text, values) }
}

const names = new Map<string, string>()

type Executes = Pick<PgPool, 'query'>

async function execute(on: Executes, text: string, values: unknown[] = []): Promise<Answer> {
  // One without values may be several, as pg-boss makes its tables.
  return await (values.length === 0 ? on.query(text) : on.query(named(text, values)))
}

/** Named, so that the server plans each of pg-boss's long statements once a connection. */
function named(text: string, values: unknown[]): PgQuery {
  let name = names.get(text)
  if (name === undefined) {
    if (names.size >= namesMax) return { text, values }
    names.set(text, (name = `job_${names.size}`))
  }
  return { name, text, values }
}

/** pg-boss writes few statements with values; one that differs each time is not worth a plan. */
const namesMax = 50
const closeMsMax = 2000
