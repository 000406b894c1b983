import { hostname } from 'node:os'
import { packageVersion } from '../../../kernel/package-version.ts'
import type { NodeState } from '../../store-state.ts'
import type { Connection } from '../connection/pooled-connection.ts'

// A node describes itself in the name of its schema connection, and updates the name with every lease renewal.
// PostgreSQL lists each name with its connection's start time and last activity, and removes it when the connection
// closes. A table would need a write per renewal and a cleanup of dead nodes' rows.

const prefix = 'errand node'
const pattern = /^errand node (\S+) (\d+) (\d+) (\d+)@(.*)$/
/** PostgreSQL truncates longer names, and replaces non-ASCII characters. */
const nameCharsMax = 63

type Work = Pick<NodeState, 'runningTasks' | 'openTurns'>

export function nodeName({ openTurns, runningTasks }: Work): string {
  return `${prefix} ${packageVersion} ${runningTasks} ${openTurns} ${process.pid}@${hostname()}`.slice(0, nameCharsMax)
}

const list = {
  name: 'nodes_list',
  text: `SELECT application_name AS name, host(client_addr) AS address,
      extract(epoch FROM backend_start)::float8 * 1000 AS "startedAt",
      extract(epoch FROM state_change)::float8 * 1000 AS "seenAt"
    FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE '${prefix} %'
    ORDER BY backend_start`,
}

type Row = { name: string; address: string | null; startedAt: number; seenAt: number }

export async function listNodes({ client }: Connection): Promise<NodeState[]> {
  const { rows } = await client.query(list)
  return (rows as Row[]).flatMap(({ address, name, seenAt, startedAt }) => {
    const [, version, tasks, turns, pid, host] = pattern.exec(name) ?? []
    if (version === undefined) return []
    return {
      host: host || (address ?? 'local'),
      pid: Number(pid),
      version,
      startedAt: Math.round(startedAt),
      seenAt: Math.round(seenAt),
      runningTasks: Number(tasks),
      openTurns: Number(turns),
    }
  })
}
