import { Text } from '@mantine/core'
import type { PlatformKey } from '../../../../client/client.ts'
import { client } from '../../../app/api-client.ts'
import { queryClient } from '../../../app/query-client.ts'
import { ConfirmButton } from '../../../parts/confirm-button.tsx'
import { DataTable, type Column } from '../../../parts/data-table.tsx'
import { focusHeading } from '../../../parts/hooks/focus-heading.ts'
import { useNow } from '../../../parts/hooks/use-now.ts'
import { notifyDone } from '../../../parts/notify.tsx'
import { PageLink } from '../../../parts/page-link.tsx'
import { StatusBadge } from '../../../parts/status-badge.tsx'
import { countText } from '../../../parts/text/count-text.ts'
import { TimeText } from '../../../parts/text/time-text.tsx'
import { usdText } from '../../../parts/text/usd-text.ts'
import { describePlatformScopes, platformKeyState } from './platform-key-scopes.ts'

export function PlatformKeyTable({ keys }: { keys: readonly PlatformKey[] }) {
  const now = useNow()
  return <DataTable caption="Platform keys" isWide columns={columnsAt(now)} rows={keys} rowKey={({ id }) => id} />
}

function columnsAt(now: number): Column<PlatformKey>[] {
  return [
    {
      id: 'name',
      label: 'Name',
      cell: ({ hint, id, name }) => (
        <>
          <PageLink href={`/admin/platform-keys/${id}`} fw={600}>
            {name}
          </PageLink>
          <Text size="sm" c="dimmed" ff="monospace">
            …{hint}
          </Text>
        </>
      ),
    },
    { id: 'scopes', label: 'Scopes', cell: ({ scopes }) => describePlatformScopes(scopes) },
    {
      id: 'users',
      label: 'Users created',
      align: 'right',
      cell: ({ usersCreated }) => countText(usersCreated),
    },
    {
      id: 'addresses',
      label: 'Allowed IP addresses',
      cell: ({ addresses }) =>
        addresses === null ? 'Any' : addresses.map((address) => <div key={address}>{address}</div>),
    },
    {
      id: 'credit',
      label: 'Credited today',
      align: 'right',
      cell: ({ creditPerDayUsd, creditedTodayUsd, scopes }) => {
        if (!scopes.includes('credit')) return '–'
        const credited = usdText(creditedTodayUsd)
        return creditPerDayUsd === null ? credited : `${credited} of ${usdText(creditPerDayUsd)}`
      },
    },
    { id: 'state', label: 'Status', cell: (key) => <StatusBadge status={platformKeyState(key, now)} /> },
    { id: 'used', label: 'Last used', cell: ({ lastUsedAt }) => <When at={lastUsedAt} otherwise="Never" /> },
    { id: 'expires', label: 'Expires', cell: ({ expiresAt }) => <When at={expiresAt} otherwise="Never" /> },
    {
      id: 'actions',
      label: 'Actions',
      isLabelHidden: true,
      align: 'right',
      cell: (key) => platformKeyState(key, now) === 'active' && <RevokeButton of={key} />,
    },
  ]
}

function When({ at, otherwise }: { at: string | null; otherwise: string }) {
  return at === null ? otherwise : <TimeText at={at} />
}

function RevokeButton({ of: { id: keyId, name } }: { of: PlatformKey }) {
  return (
    <ConfirmButton
      label="Revoke"
      ariaLabel={`Revoke platform key ${name}`}
      title={`Revoke ${name}?`}
      confirmLabel="Revoke platform key"
      onConfirm={async () => {
        await client.platformKeys.revoke({ keyId })
        notifyDone(`${name} revoked.`)
        focusHeading()
        await queryClient.invalidateQueries({ queryKey: ['platform-keys'] })
      }}
    >
      The key and all client tokens created with it stop working immediately. Users created with the key keep their
      accounts and balances.
    </ConfirmButton>
  )
}
