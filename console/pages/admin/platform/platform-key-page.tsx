import { Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useParams } from 'wouter'
import { ErrandClientError, type PlatformKeyDetails } from '../../../../client/client.ts'
import { client } from '../../../app/api-client.ts'
import { queryClient } from '../../../app/query-client.ts'
import { PageCode } from '../../../parts/code/page-code.tsx'
import { Snippets } from '../../../parts/code/snippets.tsx'
import { CopyText } from '../../../parts/copy-text.tsx'
import { DataTable, type Column } from '../../../parts/data-table.tsx'
import { EmptyState } from '../../../parts/empty-state.tsx'
import { focusHeading } from '../../../parts/hooks/focus-heading.ts'
import { useNow } from '../../../parts/hooks/use-now.ts'
import { KeyValueList } from '../../../parts/key-value-list.tsx'
import { notifyDone } from '../../../parts/notify.tsx'
import { PageHeader } from '../../../parts/page-header.tsx'
import { PageLink } from '../../../parts/page-link.tsx'
import { Panel } from '../../../parts/panel.tsx'
import { QueryState } from '../../../parts/query-state.tsx'
import { StatusBadge } from '../../../parts/status-badge.tsx'
import { countText } from '../../../parts/text/count-text.ts'
import { dayName } from '../../../parts/text/day-name.ts'
import { Money } from '../../../parts/text/money.tsx'
import { TimeText } from '../../../parts/text/time-text.tsx'
import { ClientTokenTable } from '../../settings/keys/client-token-table.tsx'
import { AdminsOnlyPage, isForAdminsOnly } from '../admins-only-page.tsx'
import { describePlatformScopes, platformKeyState } from './platform-key-scopes.ts'

export function PlatformKeyPage() {
  const { keyId } = useParams<{ keyId: string }>()
  const key = useQuery({
    queryKey: ['platform-keys', 'one', keyId],
    queryFn: ({ signal }) => client.platformKeys.get({ keyId }, { signal }),
  })
  const now = useNow()
  if (isForAdminsOnly(key.error)) return <AdminsOnlyPage />
  const isMissing = key.error instanceof ErrandClientError && key.error.status === 404
  return (
    <>
      <PageHeader
        title={isMissing ? 'Platform key not found' : (key.data?.name ?? 'Platform key')}
        back={{ href: '/admin/platform-keys', label: 'Platform keys' }}
        description={key.data && <StatusBadge status={platformKeyState(key.data, now)} />}
      />
      {isMissing ? (
        <EmptyState
          title="No platform key with this ID"
          action={<PageLink href="/admin/platform-keys">View all platform keys</PageLink>}
        >
          Check the ID.
        </EmptyState>
      ) : (
        <QueryState query={key}>{(data) => <KeyView of={data} />}</QueryState>
      )}
    </>
  )
}

function KeyView({ of: key }: { of: PlatformKeyDetails }) {
  const { addresses, clientTokens, clientTokensTotal, creditPerDayUsd, expiresAt, id: keyId, lastUsedAt } = key
  const days = key.creditDays.filter(({ creditedUsd, takenUsd }) => /[1-9]/.test(creditedUsd + takenUsd)).toReversed()
  return (
    <Stack gap="lg">
      <Panel title="Key">
        <KeyValueList
          rows={[
            ['ID', <CopyText key="id" value={keyId} what="platform key ID" />],
            ['Key', <code key="hint">errand_pk_…{key.hint}</code>],
            ['Scopes', describePlatformScopes(key.scopes)],
            ['Allowed IP addresses', addresses === null ? 'Any' : addresses.join(', ')],
            ['Credit limit per day', creditPerDayUsd === null ? 'None' : <Money key="limit" usd={creditPerDayUsd} />],
            ['Users created', countText(key.usersCreated)],
            ['Created', <TimeText key="created" at={key.createdAt} isExact />],
            ['Last used', lastUsedAt === null ? 'Never' : <TimeText key="used" at={lastUsedAt} isExact />],
            [
              'Used from',
              key.lastAddresses.length > 0 &&
                key.lastAddresses.map(({ address, lastUsedAt: at }) => (
                  <div key={address}>
                    {address}, <TimeText at={at} />
                  </div>
                )),
            ],
            ['Expires', expiresAt === null ? 'Never' : <TimeText key="expires" at={expiresAt} isExact />],
            ['Revoked', key.revokedAt && <TimeText key="revoked" at={key.revokedAt} isExact />],
          ]}
        />
      </Panel>
      <Panel title="Credit per day (UTC)">
        {days.length === 0 ? (
          <Text c="dimmed">No credit in the last {key.creditDays.length} days.</Text>
        ) : (
          <DataTable caption="Credit per day" columns={creditColumns} rows={days} rowKey={({ date }) => date} />
        )}
      </Panel>
      <Panel title="Client tokens">
        {clientTokens.length === 0 ? (
          <Text c="dimmed">No active client tokens.</Text>
        ) : (
          <>
            <ClientTokenTable
              tokens={clientTokens}
              first={{
                id: 'user',
                label: 'User',
                cell: ({ userId }) => <PageLink href={`/admin/users/${userId}`}>…{userId.slice(-6)}</PageLink>,
              }}
              onRevoke={async ({ id: tokenId }) => {
                await client.platformKeys.revokeToken({ keyId, tokenId })
                notifyDone('Client token revoked.')
                focusHeading()
                await queryClient.invalidateQueries({ queryKey: ['platform-keys'] })
              }}
            />
            {clientTokensTotal > clientTokens.length && (
              <Text size="sm" c="dimmed" mt="xs">
                The newest {clientTokens.length} of {countText(clientTokensTotal)} active client tokens.
              </Text>
            )}
          </>
        )}
      </Panel>
      <PageCode>
        <Snippets
          request={{ method: 'GET', path: `/api/platform-keys/${keyId}` }}
          call={{ method: 'platformKeys.get', input: { keyId }, result: 'key' }}
        />
      </PageCode>
    </Stack>
  )
}

const creditColumns: Column<PlatformKeyDetails['creditDays'][number]>[] = [
  { id: 'date', label: 'Day', cell: ({ date }) => <time dateTime={date}>{dayName(date, 'long')}</time> },
  {
    id: 'credited',
    label: 'Credited',
    align: 'right',
    cell: ({ creditedUsd }) => <Money usd={creditedUsd} isExact />,
  },
  { id: 'taken', label: 'Taken back', align: 'right', cell: ({ takenUsd }) => <Money usd={takenUsd} isExact /> },
]
