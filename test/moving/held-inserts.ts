import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import type { PgClient, PgPool } from '../../server/store/postgres/connection/driver.ts'

const main = fileURLToPath(new URL('../../server/main.ts', import.meta.url))

/** Blocks inserts into tables, so that a process can be killed during one. */
export class HeldInserts {
  /** All locks belong to one connection. */
  readonly #client: PgClient
  readonly #tables: readonly string[]

  private constructor(client: PgClient, tables: readonly string[]) {
    this.#client = client
    this.#tables = tables
  }

  static async install(pool: PgPool, tables: readonly string[]): Promise<HeldInserts> {
    const client = await pool.connect()
    // With the nodes' application name it would count as a node.
    await client.query(`SET application_name = 'a test'`)
    const wait = 'BEGIN PERFORM pg_advisory_xact_lock_shared(TG_ARGV[0]::bigint); RETURN NULL; END'
    await client.query(`CREATE FUNCTION held() RETURNS trigger LANGUAGE plpgsql AS '${wait}'`)
    for (const [n, table] of tables.entries()) {
      const event = table === 'settings' ? 'AFTER INSERT OR UPDATE' : 'AFTER INSERT'
      // The last row written marks the rest as complete.
      const row = table === 'settings' ? `FOR EACH ROW WHEN (NEW.value = 'done')` : 'FOR EACH STATEMENT'
      await client.query(`CREATE TRIGGER held ${event} ON ${table} ${row} EXECUTE FUNCTION held(${n})`)
    }
    return new HeldInserts(client, tables)
  }

  /** Runs a command until it has written to the table, and kills it before the commit. */
  async killAt(table: string, run: { args: string[]; env: Record<string, string> }): Promise<void> {
    const key = this.#tables.indexOf(table)
    await this.#client.query('SELECT pg_advisory_lock($1)', [key])
    const child = spawn(process.execPath, [main, ...run.args], { env: { ...process.env, ...run.env } })
    let said = ''
    child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()))
    const exited = once(child, 'exit')
    const isWaiting = async () => {
      if (child.exitCode !== null) throw new Error(`it ended before it came to ${table}: ${said}`)
      const waiting = `SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objid = $1 AND NOT granted`
      return (await this.#client.query(waiting, [key])).rows.length > 0
    }
    await expect.poll(isWaiting, { timeout: 60_000, interval: 20 }).toBe(true)
    child.kill('SIGKILL')
    await exited
    await this.#client.query('SELECT pg_advisory_unlock($1)', [key])
  }

  async remove(): Promise<void> {
    await this.#client.query('DROP FUNCTION held CASCADE')
    this.#client.release(true)
  }
}
