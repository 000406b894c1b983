import { Box, Code, Group, Select, Skeleton, Stack, TextInput } from '@mantine/core'
import type { AuditAct } from '../../../../client/client.ts'
import type { Column } from '../../../parts/data-table.tsx'
import { DownloadButton } from '../../../parts/download/download-button.tsx'
import { readCsv } from '../../../parts/download/read-csv.ts'
import { EmptyState } from '../../../parts/empty-state.tsx'
import { useSearchField } from '../../../parts/hooks/use-search-field.ts'
import { PageHeader } from '../../../parts/page-header.tsx'
import { TimeText } from '../../../parts/text/time-text.tsx'
import classes from '../admin.module.css'
import { AdminsOnlyPage, isForAdminsOnly } from '../admins-only-page.tsx'
import { ActorName, UserLink } from './actor-name.tsx'
import { AuditEntries, useAuditLog } from './audit-entries.tsx'
import { actionNames } from './audit-words.ts'

type Action = AuditAct['action']
const limit = 50

export function AuditPage() {
  const [userId, setUserId] = useSearchField('userId')
  const [actionText, setAction] = useSearchField('action')
  const action = Object.hasOwn(actionNames, actionText) ? (actionText as Action) : undefined
  const filters = { ...(userId !== '' && { userId }), ...(action && { action }) }
  const log = useAuditLog({ ...filters, limit })
  if (isForAdminsOnly(log.error)) return <AdminsOnlyPage />
  return (
    <>
      <PageHeader
        title="Audit log"
        description="Logins, and changes to users, keys, credit, limits and invitations. Entries cannot be changed."
      />
      <Stack gap="lg">
        <Group align="flex-end">
          <Select
            label="Action"
            data={[
              { value: '', label: 'All' },
              ...Object.entries(actionNames).map(([value, label]) => ({ value, label })),
            ]}
            value={action ?? ''}
            onChange={(next) => setAction(next ?? '')}
            allowDeselect={false}
          />
          <TextInput label="User ID" value={userId} onChange={(event) => setUserId(event.currentTarget.value.trim())} />
          <DownloadButton
            label="Download CSV"
            fileName="errand-audit.csv"
            content={() => readCsv(`/api/admin/audit?${new URLSearchParams({ ...filters, limit: '100' }).toString()}`)}
          />
        </Group>
        <AuditEntries
          log={log}
          caption="Audit log"
          columns={columns}
          empty={<EmptyState title="No entries">Change the filters to see other entries.</EmptyState>}
          skeleton={<Skeleton height={360} />}
          isWide
        />
      </Stack>
    </>
  )
}

const columns: Column<AuditAct>[] = [
  {
    id: 'action',
    label: 'Action',
    cell: ({ action }) => <span className={classes.nowrap}>{actionNames[action]}</span>,
  },
  {
    id: 'at',
    label: 'Time',
    cell: ({ createdAt }) => (
      <span className={classes.nowrap}>
        <TimeText at={createdAt} isExact />
      </span>
    ),
  },
  {
    id: 'user',
    label: 'User',
    cell: ({ userId }) => (userId === null ? '–' : <UserLink id={userId} />),
  },
  { id: 'actor', label: 'Actor', cell: (act) => <ActorName act={act} /> },
  { id: 'client', label: 'IP address', cell: ({ client: address }) => address ?? '–' },
  {
    id: 'change',
    label: 'Change',
    cell: ({ change }) =>
      change === '{}' ? (
        '–'
      ) : (
        <Box miw={200} style={{ overflowWrap: 'anywhere' }}>
          {/* The spaces let the line break between values. */}
          <Code style={{ boxDecorationBreak: 'clone' }}>{change.replaceAll(',"', ', "')}</Code>
        </Box>
      ),
  },
]
