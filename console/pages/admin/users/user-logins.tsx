import { Text } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import type { Login } from '../../../../client/client.ts'
import { client } from '../../../app/api-client.ts'
import { queryClient } from '../../../app/query-client.ts'
import { ConfirmButton } from '../../../parts/confirm-button.tsx'
import { DataTable, type Column } from '../../../parts/data-table.tsx'
import { focusHeading } from '../../../parts/hooks/focus-heading.ts'
import { useOffset } from '../../../parts/hooks/use-search-field.ts'
import { notifyDone } from '../../../parts/notify.tsx'
import { Pager } from '../../../parts/pager.tsx'
import { QueryState } from '../../../parts/query-state.tsx'
import { TimeText } from '../../../parts/text/time-text.tsx'
import { describeBrowser } from '../../settings/describe-browser.ts'
import classes from '../admin.module.css'
import { PastEnd } from '../past-end.tsx'

const limit = 25

export function UserLogins({ userId }: { userId: string }) {
  const [offset, setOffset] = useOffset()
  const input = { userId, limit, ...(offset > 0 && { offset }) }
  const logins = useQuery({
    queryKey: ['user-logins', input],
    queryFn: ({ signal }) => client.users.listLogins(input, { signal }),
    placeholderData: keepPreviousData,
  })
  return (
    <QueryState query={logins} isEmpty={({ total }) => total === 0} empty={<Text c="dimmed">No active logins.</Text>}>
      {({ logins: rows, total }) => (
        <div aria-busy={logins.isPlaceholderData} className={logins.isPlaceholderData ? classes.stale : undefined}>
          {rows.length === 0 ? (
            <PastEnd what="logins" onFirst={() => setOffset(0)} />
          ) : (
            <DataTable caption="User logins" columns={columnsOf(userId)} rows={rows} rowKey={({ id }) => id} />
          )}
          <Pager what="logins" total={total} limit={limit} offset={offset} onChange={setOffset} />
        </div>
      )}
    </QueryState>
  )
}

function columnsOf(userId: string): Column<Login>[] {
  return [
    {
      id: 'browser',
      label: 'Browser',
      cell: ({ userAgent }) => (
        <Text fw={600} title={userAgent ?? undefined}>
          {describeBrowser(userAgent)}
        </Text>
      ),
    },
    { id: 'address', label: 'IP address', cell: ({ address }) => address ?? '—' },
    { id: 'created', label: 'Logged in', cell: ({ createdAt }) => <TimeText at={createdAt} /> },
    { id: 'used', label: 'Last used', cell: ({ lastUsedAt }) => <TimeText at={lastUsedAt} /> },
    {
      id: 'actions',
      label: 'Actions',
      isLabelHidden: true,
      align: 'right',
      cell: (login) => <EndButton login={login} userId={userId} />,
    },
  ]
}

function EndButton({ login: { id: loginId, userAgent }, userId }: { login: Login; userId: string }) {
  const name = describeBrowser(userAgent)
  return (
    <ConfirmButton
      label="End"
      ariaLabel={`End login of ${name}`}
      title="End this login?"
      confirmLabel="End login"
      onConfirm={async () => {
        await client.users.endLogin({ userId, loginId })
        notifyDone('Login ended.')
        focusHeading()
        await queryClient.invalidateQueries({ queryKey: ['user-logins'] })
      }}
    >
      The browser ({name}) is logged out immediately. The user can log in again.
    </ConfirmButton>
  )
}
