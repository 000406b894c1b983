import { Badge, Group, Stack, Text } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import type { Login } from '../../../client/client.ts'
import { client } from '../../app/api-client.ts'
import { leaveConsole } from '../../app/leave-console.ts'
import { queryClient } from '../../app/query-client.ts'
import { PageCode } from '../../parts/code/page-code.tsx'
import { Snippets } from '../../parts/code/snippets.tsx'
import { ConfirmButton } from '../../parts/confirm-button.tsx'
import { DataTable, type Column } from '../../parts/data-table.tsx'
import { EmptyState } from '../../parts/empty-state.tsx'
import { notifyDone } from '../../parts/notify.tsx'
import { PageHeader } from '../../parts/page-header.tsx'
import { Pager } from '../../parts/pager.tsx'
import { QueryState } from '../../parts/query-state.tsx'
import { TimeText } from '../../parts/text/time-text.tsx'
import { useOffset } from '../../parts/hooks/use-search-field.ts'
import { describeBrowser } from './describe-browser.ts'
import { focusHeading } from '../../parts/hooks/focus-heading.ts'

const limit = 50

export function LoginsPage() {
  const [offset, setOffset] = useOffset()
  const logins = useQuery({
    queryKey: ['logins', { limit, offset }],
    queryFn: ({ signal }) => client.logins.list({ limit, offset }, { signal }),
    placeholderData: keepPreviousData,
  })
  const options = useQuery({
    queryKey: ['login-options'],
    queryFn: ({ signal }) => client.login.options({ signal }),
    staleTime: Infinity,
  })
  const providerName = (id: string) => options.data?.providers.find((provider) => provider.id === id)?.name ?? id
  const path = `/api/logins?limit=${limit}${offset === 0 ? '' : `&offset=${offset}`}`
  return (
    <>
      <PageHeader
        title="Browser logins"
        description="Browsers logged in to this account. A login expires after 7 days of inactivity, and after 30 days at the latest."
        actions={
          <ConfirmButton
            label="Log out everywhere"
            title="Log out everywhere?"
            confirmLabel="Log out everywhere"
            onConfirm={logOutEverywhere}
            buttonProps={{ size: 'sm' }}
          >
            This logs out all browsers, including this one. API keys keep working.
          </ConfirmButton>
        }
      />
      <Stack gap="lg">
        <QueryState
          query={logins}
          isEmpty={({ logins: rows }) => rows.length === 0}
          empty={<EmptyState title="No logins on this page">Go back to the first page.</EmptyState>}
        >
          {({ logins: rows, total }) => (
            <div>
              <DataTable
                caption="Browser logins"
                columns={columnsOf(providerName)}
                rows={rows}
                rowKey={({ id }) => id}
              />
              <Pager what="logins" total={total} limit={limit} offset={offset} onChange={setOffset} />
            </div>
          )}
        </QueryState>
        <PageCode>
          <Snippets
            request={{ method: 'GET', path }}
            call={{ method: 'logins.list', input: { limit, ...(offset > 0 && { offset }) }, result: 'page' }}
          />
        </PageCode>
      </Stack>
    </>
  )
}

function columnsOf(providerName: (id: string) => string): Column<Login>[] {
  return [
    {
      id: 'browser',
      label: 'Browser',
      cell: ({ userAgent, current }) => (
        <Group gap="xs">
          <Text fw={600} title={userAgent ?? undefined}>
            {describeBrowser(userAgent)}
          </Text>
          {current && (
            <Badge variant="light" tt="none" fw={500}>
              This browser
            </Badge>
          )}
        </Group>
      ),
    },
    { id: 'method', label: 'Method', cell: (login) => methodOf(login, providerName) },
    { id: 'address', label: 'IP address', cell: ({ address }) => address ?? '—' },
    { id: 'created', label: 'Logged in', cell: ({ createdAt }) => <TimeText at={createdAt} /> },
    { id: 'used', label: 'Last used', cell: ({ lastUsedAt }) => <TimeText at={lastUsedAt} /> },
    { id: 'ends', label: 'Expires', cell: ({ expiresAt }) => <TimeText at={expiresAt} /> },
    {
      id: 'actions',
      label: 'Actions',
      isLabelHidden: true,
      align: 'right',
      cell: (login) => <EndButton login={login} />,
    },
  ]
}

function methodOf({ method, provider }: Login, providerName: (id: string) => string): string {
  if (method === 'password') return 'Password'
  if (method === 'invitation') return 'Invitation link'
  return provider === null ? 'Single sign-on' : `Single sign-on with ${providerName(provider)}`
}

function EndButton({ login: { id, current, userAgent } }: { login: Login }) {
  const name = describeBrowser(userAgent)
  if (current) {
    return (
      <ConfirmButton
        label="Log out"
        ariaLabel="Log out on this browser"
        title="Log out on this browser?"
        confirmLabel="Log out"
        onConfirm={async () => {
          await client.login.end()
          leaveConsole()
        }}
      >
        This is your current login.
      </ConfirmButton>
    )
  }
  return (
    <ConfirmButton
      label="Log out"
      ariaLabel={`Log out ${name}`}
      title={`Log out ${name}?`}
      confirmLabel="Log out"
      onConfirm={async () => {
        await client.logins.end({ loginId: id })
        notifyDone(`${name} logged out.`)
        focusHeading()
        await queryClient.invalidateQueries({ queryKey: ['logins'] })
      }}
    >
      The browser is logged out immediately.
    </ConfirmButton>
  )
}

async function logOutEverywhere(): Promise<void> {
  await client.logins.endAll()
  leaveConsole()
}
