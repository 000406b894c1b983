import { rmSync } from 'node:fs'
import { openPool } from '../../server/store/postgres/connection/database.ts'
import { SchemaHold } from '../../server/store/postgres/connection/schema-hold.ts'
import type { PgPool } from '../../server/store/postgres/connection/driver.ts'
import { codeOf } from '../../server/store/postgres/connection/pg-errors.ts'
import { openPostgresStoreBeside } from '../../server/store/postgres/postgres-store.ts'
import type { Clock } from '../../server/kernel/clock.ts'
import { FaultDatabase } from '../faults/fault-database.ts'
import { PostgresRows } from '../faults/postgres-rows.ts'
import { until } from '../support/until.ts'
import type { TaskRow } from './audit-rows.ts'
import { DatabaseLink } from './database-link.ts'
import { PostgresAudit } from './postgres-audit.ts'
import { Violation } from './sim-checks.ts'
import { gates } from './sim-gates.ts'
import type { ForbiddenWrite, SimEngine, StartNode } from './sim-engine.ts'
import { abandon, FaultLog, lookForRecharges, newSimFolder, simLimits, startSimApp, type SimHost } from './sim-host.ts'

// Services on one PostgreSQL database. All share one simulated clock, as they share the database's clock in production.
// The simulated clock jumps by days, and a node cannot renew a lease during a jump. So leases are stored with a length
// of many years, and the simulation expires them explicitly. Each node has a different lease length, which identifies
// the owner of a lease.

const leaseDayMs = 1000 * 86_400_000
/** Lease length in real time. Nodes poll for the work of dead nodes every quarter of this time. */
const leaseSeconds = 1
const origin = 'http://127.0.0.1:1'
const grave = 'errand_sim_grave'
const nodeSetting = 'sim.node'

const longLeases = `
  CREATE FUNCTION sim_long_lease() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF TG_OP = 'INSERT' OR NEW.lease_until IS DISTINCT FROM OLD.lease_until THEN
        NEW.lease_until := NEW.lease_until
          + coalesce(nullif(current_setting('${nodeSetting}', true), ''), '0')::bigint * ${leaseDayMs};
      END IF;
      RETURN NEW;
    END $$;
  CREATE TRIGGER sim_long_lease BEFORE INSERT OR UPDATE OF lease_until ON tasks
    FOR EACH ROW EXECUTE FUNCTION sim_long_lease();
  CREATE TRIGGER sim_long_lease BEFORE INSERT OR UPDATE OF lease_until ON turns
    FOR EACH ROW EXECUTE FUNCTION sim_long_lease();`

type PostgresSim = {
  nodes: number
  /** Connection string of a server; its user must be allowed to create databases. Default: a new server. */
  url?: string | undefined
}

export async function postgresSimEngine({ nodes, url }: PostgresSim): Promise<SimEngine> {
  const server = url === undefined ? await FaultDatabase.start({ isDurable: false }) : undefined
  const urlOf = (database: string) => {
    const of = new URL(url ?? server!.urlOf('postgres'))
    of.pathname = `/${database}`
    return of.href
  }
  const admin = openPool(url ?? server!.urlOf('postgres'), 1)
  await newDatabase(admin, grave, urlOf(grave))
  const database = `errand_sim_${process.pid}_${Date.now()}`
  const target = urlOf(database)
  let direct: PgPool | undefined
  let rows: PostgresRows | undefined
  let audit: PostgresAudit | undefined
  let clock: Clock | undefined
  const links = new Set<DatabaseLink>()

  async function start({ dataDir, node, time }: StartNode): Promise<SimHost> {
    const log = new FaultLog()
    const link = await DatabaseLink.open(target, grave)
    links.add(link)
    const nodeUrl = new URL(link.url)
    nodeUrl.searchParams.set('options', `-c ${nodeSetting}=${node + 1}`)
    const app = await startSimApp(dataDir, {
      log,
      baseUrl: origin,
      databaseUrl: nodeUrl.href,
      limits: { ...simLimits, leaseSeconds },
      createClock: (notBefore) => (clock ??= time.systemClock(notBefore)),
      onFatal: (cause) => log.note(`the store stopped for good: ${String(cause)}`),
    })
    return {
      url: app.url,
      origin,
      dataDir,
      store: app.store,
      now: () => clock!.now(),
      moveTime: async (passMs, setMs) => {
        time.pass(passMs)
        time.set(setMs)
      },
      openGate: async (name, end) => gates.open(name, end),
      recharge: () => lookForRecharges(app),
      stop: async (hasten) => {
        const stopped = app.stop()
        if (hasten) app.hasten()
        await stopped
        link.close()
      },
      crash: async () => {
        const ports = link.cut()
        abandon(app, () => link.close())
        if (ports.length === 0) throw new Error('A crashed service had no connection to its database.')
        // The server may still commit statements that it received before the cut.
        const left = 'SELECT count(*)::int AS left FROM pg_stat_activity WHERE client_port = ANY ($1)'
        await until('what a crashed service had asked for is over', 20_000, async () => {
          const { rows: found } = await admin.query(left, [ports])
          return (found as { left: number }[])[0]!.left === 0
        })
        return dataDir
      },
      faults: () => log.take(),
    }
  }

  return {
    name: 'PostgreSQL',
    nodes,
    leftOut: { steps: ['backup', 'restore'], why: 'a PostgreSQL database is backed up by its own tools' },
    recoveryMs: 20_000,
    newPlace: async () => {
      await newDatabase(admin, database, target)
      direct = openPool(target, 1)
      await direct.query(longLeases)
      return newSimFolder()
    },
    start,
    openAudit: () => (audit ??= new PostgresAudit((rows = PostgresRows.of(target)))),
    openBeside: (_, now) =>
      openPostgresStoreBeside({ databaseUrl: target, limits: simLimits, clock: () => now, connectionsMax: 1 }),
    nodeOf: ({ lease_until: leaseUntil }: TaskRow, now) => nodeOfLease(leaseUntil, now),
    nodeIsGone: async (node, now) => {
      // Covers leases of this node that were renewed up to half a lease length before or after now.
      const [from, to] = [(node + 0.5) * leaseDayMs + now, (node + 1.5) * leaseDayMs + now]
      for (const table of ['tasks', 'turns']) {
        await direct!.query(`UPDATE ${table} SET lease_until = $1 WHERE lease_until > $2 AND lease_until <= $3`, [
          // New value of the lease: expired, even if the clock does not advance.
          now - 1,
          from,
          to,
        ])
      }
    },
    tryWrite: (_, write) => tryOnPostgres(direct!, write),
    removePlace: async (dataDir) => rmSync(dataDir, { recursive: true, force: true }),
    close: async () => {
      rows?.close()
      for (const link of links) link.close()
      await direct?.end()
      if (!server) {
        for (const name of [database, grave]) await admin.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
      }
      await admin.end()
      await server?.stop()
    },
  }
}

async function newDatabase(admin: PgPool, name: string, url: string): Promise<void> {
  await admin.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
  await admin.query(`CREATE DATABASE ${name}`)
  await (await SchemaHold.open({ databaseUrl: url, change: 'migrate' })).close()
}

/** Returns the node that holds a lease; undefined for an expired lease, because any node may take over the work. */
function nodeOfLease(leaseUntil: number | null | undefined, now: number): number | undefined {
  const node = leaseUntil === null || leaseUntil === undefined ? -1 : Math.round((leaseUntil - now) / leaseDayMs) - 1
  return node < 0 ? undefined : node
}

async function tryOnPostgres(pool: PgPool, { sql, values }: ForbiddenWrite): Promise<string | undefined> {
  let n = 0
  const client = await pool.connect()
  try {
    await client.query('BEGIN')
    const { rowCount } = await client.query({ text: sql.replaceAll('?', () => `$${++n}`), values })
    if (rowCount === 0) throw new Violation(`there is nothing that "${sql}" would change`)
    return undefined
  } catch (error) {
    // Class 23: integrity constraint violation.
    if (codeOf(error).startsWith('23')) return codeOf(error)
    throw error
  } finally {
    await client.query('ROLLBACK')
    client.release()
  }
}
