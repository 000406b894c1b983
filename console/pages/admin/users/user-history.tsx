import { Code, Text } from '@mantine/core'
import type { AuditAct } from '../../../../client/client.ts'
import type { Column } from '../../../parts/data-table.tsx'
import { TimeText } from '../../../parts/text/time-text.tsx'
import { ActorName } from '../audit/actor-name.tsx'
import { AuditEntries, useAuditLog } from '../audit/audit-entries.tsx'
import { actionNames } from '../audit/audit-words.ts'

const limit = 25
const wraps = { overflowWrap: 'anywhere' } as const

// The panel is narrow, so each cell has two lines instead of the five columns of the audit log.
const columns: Column<AuditAct>[] = [
  {
    id: 'action',
    label: 'Action',
    cell: ({ action, change }) => (
      <>
        <div>{actionNames[action]}</div>
        {change !== '{}' && <Code style={wraps}>{change}</Code>}
      </>
    ),
  },
  {
    id: 'actor',
    label: 'Actor',
    cell: (act) => (
      <div style={{ ...wraps, minWidth: 140 }}>
        <ActorName act={act} />
        {act.client !== null && (
          <Text size="sm" c="dimmed">
            {act.client}
          </Text>
        )}
      </div>
    ),
  },
  { id: 'at', label: 'Time', align: 'right', cell: ({ createdAt }) => <TimeText at={createdAt} /> },
]

/** Audit log entries about a user. */
export function UserHistory({ userId }: { userId: string }) {
  return (
    <AuditEntries
      log={useAuditLog({ userId, limit })}
      caption="User history"
      columns={columns}
      empty={<Text c="dimmed">No history yet.</Text>}
    />
  )
}
