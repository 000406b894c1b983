import type { Clock } from '../../kernel/clock.ts'
import { UsageError } from '../../kernel/usage-error.ts'
import { peopleStore } from '../access/people-store.ts'
import { readLedger } from '../accounts/whole-ledger.ts'
import { readOpen } from '../commands/state-rows.ts'
import { workStore } from '../commands/work-store.ts'
import type { Committed } from '../committed.ts'
import type { Store, StoreLimits } from '../store.ts'
import { PostgresEngine } from './command-engine.ts'
import { newestTime, openPool } from './connection/database.ts'
import type { PgPool } from './connection/driver.ts'
import { SchemaHold, type SchemaHoldOptions } from './connection/schema-hold.ts'
import { Ledger } from './ledger.ts'
import { sharedBy } from './nodes/shared-store.ts'
import { agreeSetting, replaceSetting } from './setting-rows.ts'
import { listNodes } from './nodes/node-names.ts'
import { PgSignals } from './nodes/signals.ts'
import { takeTasks } from './nodes/take-tasks.ts'
import { silentMsMax, Transactions } from './connection/transactions.ts'
import { verifyLedger } from './verify-ledger.ts'

const size = {
  name: 'state_size',
  text: 'SELECT pg_database_size(current_database()) AS "databaseBytes"',
}
/** Must be longer than the lock timeout and shorter than the silence timeout. */
const defaultStatementMsMax = 12_000

export type PostgresStoreOptions = {
  databaseUrl: string
  limits: StoreLimits
  /** Creates the clock. `notBefore` is the newest stored time. By default, the database supplies the time. */
  clock?: (notBefore: number) => Clock
  onCommit?: (commit: Committed) => void
  onWarning?: (message: string) => void
  /**
   * Called if another version has changed the schema or the installation was exported. The process must then exit.
   */
  onFatal?: (cause: unknown) => void
  connectionsMax?: number
  statementMsMax?: number
}

/** Opens the store for a server and migrates its schema. Several servers can share a database. */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<Store> {
  return await opened(options, { isNode: true, change: 'migrate' })
}

/**
 * Opens the store for the few short writes of a CLI command. The command cannot migrate the schema, but with
 * `mayCreate` it can set up an empty database.
 */
export async function openPostgresStoreBeside(options: PostgresStoreOptions & { mayCreate?: boolean }): Promise<Store> {
  return await opened(options, { isNode: false, change: options.mayCreate ? 'create' : 'none' })
}

type As = { isNode: boolean }

async function opened(
  options: PostgresStoreOptions,
  { change, isNode }: As & Pick<SchemaHoldOptions, 'change'>,
): Promise<Store> {
  const { connectionsMax, databaseUrl, onFatal, statementMsMax = defaultStatementMsMax } = options
  const schema = await SchemaHold.open({ databaseUrl, change, onFatal })
  const pool = openPool(databaseUrl, connectionsMax, { statementMsMax })
  try {
    const clock = options.clock?.(await newestTime(pool))
    return composeStore({ pool, schema, clock, isNode }, options)
  } catch (error) {
    await pool.end()
    await schema.close()
    throw error
  }
}

/** Returns the silence timeout for a lease renewal, which leaves time for a second attempt before the lease expires. */
function renewalMsMax(leaseMs: number): number {
  return Math.min(silentMsMax, Math.max(1000, leaseMs / 3))
}

type Opened = As & { pool: PgPool; schema: SchemaHold; clock: Clock | undefined }

function composeStore({ clock, isNode, pool, schema }: Opened, options: PostgresStoreOptions): Store {
  const { databaseUrl, limits, onCommit, onWarning } = options
  const leaseMs = limits.leaseSeconds * 1000
  const ledger = new Ledger()
  const all = new Transactions(pool, {
    clock,
    ...(onCommit && { onCommit }),
    onCommitted: (tx) => ledger.posted.add(tx.posted),
  })
  const urgentPool = openPool(databaseUrl, 1)
  const urgent = new Transactions(urgentPool, { clock, onCommitted: () => {}, silentMs: renewalMsMax(leaseMs) })
  const signals = new PgSignals({ databaseUrl, pool, onWarning })
  const engine = new PostgresEngine({ all, ledger })
  let closing: Promise<void> | undefined
  return {
    ...peopleStore(engine),
    settings: {
      agree: (name, value) => all.run((tx) => agreeSetting(tx.client, name, value)),
      replace: (name, value) => all.run((tx) => replaceSetting(tx.client, name, value)),
    },
    ...(isNode && { shared: sharedBy({ all, leaseMs, schema, signals, urgent }) }),
    ...workStore(engine, limits),
    takeTasks: async (input) => {
      const taken = await all.run((tx) => takeTasks(tx, input, leaseMs))
      for (const { id, userId } of taken.tasks) all.lanes.noteOwner(id, userId)
      return taken
    },
    readLedger: (write) => engine.readSnapshot((read) => readLedger(read, write)),
    listNodes: () => all.read(listNodes),
    verifyLedger: () => all.readAll(({ client }) => verifyLedger(client)),
    readState: async () => {
      const { rows } = await all.read(({ client }) => client.query(size))
      const { databaseBytes } = rows[0] as { databaseBytes: number }
      // The WAL belongs to the database server, so its size is reported as 0.
      const open = await engine.read(readOpen)
      return { ...open, databaseBytes, walBytes: 0, posted: ledger.posted.totals, isWritable: !all.isFailing }
    },
    // If each connection has at least one call waiting for it, every connection already has its next command.
    hasBacklog: () => pool.waitingCount - pool.idleCount >= Math.max(1, pool.totalCount),
    canWrite: async () => {
      if (!all.isFailing) return true
      const probe = all.run((tx) => tx.client.query('UPDATE probes SET value = 1 - value WHERE id = 1'))
      return await probe.then(
        () => true,
        () => false,
      )
    },
    backup: async () => {
      throw new UsageError(
        'This command backs up only SQLite. Back up a PostgreSQL database with its own tools, such as pg_dump.',
      )
    },
    close: () => {
      closing ??= (async () => {
        await all.settled()
        await signals.close()
        await urgent.settled()
        await Promise.all([urgentPool.end(), pool.end()])
        // Release the schema lock last, because the store can write until both pools have closed.
        await schema.close()
      })()
      return closing
    },
  }
}
