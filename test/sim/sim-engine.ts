import { rmSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { openSqliteStoreBeside } from '../../server/store/sqlite/sqlite-store.ts'
import type { Clock } from '../../server/kernel/clock.ts'
import type { Store } from '../../server/store/store.ts'
import { startProcessHost } from './process-host.ts'
import type { AuditReader, TaskRow } from './audit-rows.ts'
import type { MachineTime } from './sim-clock.ts'
import { newSimFolder, simLimits, startInlineHost, type SimHost } from './sim-host.ts'
import { SqliteAudit } from './sqlite-audit.ts'

export type StartNode = { dataDir: string; time: MachineTime; node: number }

export type ForbiddenWrite = { sql: string; values: (string | number)[] }

export type SimEngine = {
  readonly name: 'SQLite' | 'PostgreSQL'
  readonly nodes: number
  /** Steps that this engine does not support, and why. */
  readonly leftOut: { steps: readonly string[]; why: string } | null
  /** Maximum time after a start until the work that a crash left open is settled. */
  readonly recoveryMs: number
  newPlace(): Promise<string>
  start(of: StartNode): Promise<SimHost>
  openAudit(dataDir: string): AuditReader
  /** Opens the store on another connection, like a CLI command next to a running server. */
  openBeside(dataDir: string, clock: Clock): Promise<Store>
  /** Returns the node that holds a task's lease; undefined if none holds it or the node is unknown. */
  nodeOf(row: TaskRow, now: number): number | undefined
  /** Expires the leases of a dead node. */
  nodeIsGone(node: number, now: number): Promise<void>
  /**
   * Returns the message with which the database rejects the write. Returns undefined if the write succeeds; it is then
   * rolled back. Throws if the write would change nothing.
   */
  tryWrite(dataDir: string, write: ForbiddenWrite): Promise<string | undefined>
  removePlace(dataDir: string): Promise<void>
  close(): Promise<void>
}

/** Creates the engine for a data directory with one service, in this process or in a separate one. */
export function sqliteSimEngine(inProcess: boolean): SimEngine {
  return {
    name: 'SQLite',
    nodes: 1,
    leftOut: null,
    recoveryMs: 5000,
    newPlace: async () => newSimFolder(),
    start: ({ dataDir, time }) => (inProcess ? startProcessHost : startInlineHost)(dataDir, time),
    openAudit: (dataDir) => new SqliteAudit(dataDir),
    openBeside: async (dataDir, clock) =>
      openSqliteStoreBeside({
        dataDir,
        limits: simLimits,
        clock: () => clock,
        onFatal: (cause) => {
          throw cause
        },
      }),
    nodeOf: () => 0,
    nodeIsGone: async () => {},
    tryWrite: async (dataDir, write) => tryOnSqlite(dataDir, write),
    removePlace: async (dataDir) => rmSync(dataDir, { recursive: true, force: true }),
    close: async () => {},
  }
}

function tryOnSqlite(dataDir: string, { sql, values }: ForbiddenWrite): string | undefined {
  const db = new Database(join(dataDir, 'errand.db'), { timeout: 5000 })
  try {
    db.exec('BEGIN IMMEDIATE')
    const { changes } = db.prepare(sql).run(...values)
    if (changes === 0) throw new Error(`there is nothing that "${sql}" would change`)
    return undefined
  } catch (error) {
    if (error instanceof Database.SqliteError && error.code.startsWith('SQLITE_CONSTRAINT')) return error.code
    throw error
  } finally {
    if (db.inTransaction) db.exec('ROLLBACK')
    db.close()
  }
}
