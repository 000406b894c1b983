import { auditHead } from '../audit/audit-commands.ts'
import type { Dialect } from '../commands/statement.ts'
import type { LedgerCheck } from './check-parts.ts'

const content = `coalesce(lag(hash) OVER (ORDER BY seq), '') || ' ' || CAST(created_at AS text) || ' ' || action || ' '
  || actor || ' ' || coalesce(actor_id, '') || ' ' || coalesce(client, '') || ' ' || coalesce(user_id, '') || ' '
  || change`

export const auditChecks = ({ digest }: Dialect): readonly LedgerCheck[] => [
  {
    what: 'each row of the audit log is unchanged and follows the row before it',
    isMoney: false,
    sql: `SELECT user_id AS "userId", NULL AS "taskId", seq AS expected, 0 AS actual
          FROM (SELECT seq, user_id, hash, ${digest(content)} AS digest FROM audit_log) AS chain
          WHERE hash <> digest`,
  },
  {
    what: 'the newest row of the audit log is present',
    isMoney: false,
    sql: `SELECT NULL AS "userId", NULL AS "taskId", 1 AS expected, 0 AS actual
          FROM (SELECT (SELECT value FROM settings WHERE name = '${auditHead}') AS head,
                       (SELECT hash FROM audit_log ORDER BY seq DESC LIMIT 1) AS newest) AS ends
          WHERE head IS DISTINCT FROM newest`,
  },
]
