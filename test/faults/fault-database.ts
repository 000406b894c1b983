import { readdirSync, readFileSync } from 'node:fs'
import { openPool } from '../../server/store/postgres/connection/database.ts'
import { PostgresProcess } from '../support/postgres-process.ts'
import { CannotRun } from '../support/test-parts.ts'
import { until } from '../support/until.ts'

type FaultDatabaseOptions = {
  /** Whether acknowledged data must survive a kill of the server. */
  isDurable: boolean
}

export class FaultDatabase {
  readonly #server: PostgresProcess
  #databases = 0

  private constructor(server: PostgresProcess) {
    this.#server = server
  }

  /** Throws CannotRun if a server cannot be started. */
  static async start({ isDurable }: FaultDatabaseOptions): Promise<FaultDatabase> {
    const settings = {
      max_connections: '200',
      fsync: isDurable ? 'on' : 'off',
      // Keeps recovery after a crash short.
      max_wal_size: '256MB',
      checkpoint_timeout: '60s',
    }
    try {
      return new FaultDatabase(await PostgresProcess.start({ settings }))
    } catch (error) {
      throw new CannotRun('postgres', error instanceof Error ? error.message : String(error))
    }
  }

  urlOf(database: string): string {
    return this.#server.urlOf(database)
  }

  /** Creates an empty database, or a copy of the one at `from`, which must have no connections. */
  async newDatabase(from?: string): Promise<string> {
    const name = `errand_${++this.#databases}`
    const template = from === undefined ? '' : ` TEMPLATE ${new URL(from).pathname.slice(1)}`
    await this.#ask(`CREATE DATABASE ${name}${template}`)
    return this.urlOf(name)
  }

  async dropDatabase(url: string): Promise<void> {
    await this.#ask(`DROP DATABASE ${new URL(url).pathname.slice(1)} WITH (FORCE)`)
  }

  /** Closes all connections to a database, as an operator or a firewall may, and returns their number. */
  async cutConnections(url: string): Promise<number> {
    const database = new URL(url).pathname.slice(1)
    const cut = `SELECT count(pg_terminate_backend(pid))::int AS cut FROM pg_stat_activity
      WHERE datname = '${database}' AND pid <> pg_backend_pid()`
    return ((await this.#ask(cut)) as { cut: number }[])[0]!.cut
  }

  async #ask(text: string): Promise<unknown[]> {
    const pool = openPool(this.urlOf('postgres'), 1)
    try {
      return (await pool.query(text)).rows
    } finally {
      await pool.end()
    }
  }

  /** Kills the server and all its processes with kill -9. */
  async kill(): Promise<void> {
    const { pid } = this.#server
    if (pid === undefined) throw new Error('PostgreSQL is not running')
    const others = childrenOf(pid)
    // Kills the parent first, because it would replace killed children.
    await this.#server.killParent()
    for (const one of others) killIfThere(one)
    await until('the killed PostgreSQL is gone', 20_000, () => others.every((one) => !isThere(one)))
  }

  startAgain(): Promise<void> {
    return this.#server.startAgain()
  }

  stop(): Promise<void> {
    return this.#server.stop()
  }
}

/** Skips the process name, which precedes the parent id in /proc/N/stat and may contain any characters. */
function childrenOf(parent: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => statOf(pid)?.parent === parent)
}

function statOf(pid: number): { state: string; parent: number } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const [state = '', parent] = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return { state, parent: Number(parent) }
  } catch {
    return undefined
  }
}

function isThere(pid: number): boolean {
  const stat = statOf(pid)
  return stat !== undefined && stat.state !== 'Z' && stat.state !== 'X'
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // The process has just exited.
  }
}
