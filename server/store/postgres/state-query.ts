import type { StoreState } from '../store.ts'
import type { Connection } from './pooled-connection.ts'
import { countUsers } from './user-rows.ts'

const open = {
  name: 'state_open',
  text: `SELECT count(*) FILTER (WHERE status = 'pending')::float8 AS "pendingTasks",
      count(*) FILTER (WHERE status <> 'pending')::float8 AS "processingTasks",
      (SELECT count(*) FROM turns WHERE settled_at IS NULL)::float8 AS "openTurns",
      pg_database_size(current_database())::float8 AS "databaseBytes"
    FROM tasks WHERE completed_at IS NULL`,
}

/** What the operator sees of the store at a glance. The server's log of changes is not ours to count. */
export async function readState(connection: Connection): Promise<Omit<StoreState, 'isWritable' | 'posted'>> {
  const { rows } = await connection.client.query(open)
  const { suspended, users } = await countUsers(connection)
  return { ...(rows[0] as Omit<StoreState, 'users'>), users, suspendedUsers: suspended, walBytes: 0 }
}
