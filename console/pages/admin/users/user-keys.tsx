import { Text } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import type { Key } from '../../../../client/client.ts'
import { client } from '../../../app/api-client.ts'
import { queryClient } from '../../../app/query-client.ts'
import { ConfirmButton } from '../../../parts/confirm-button.tsx'
import { DataTable, type Column } from '../../../parts/data-table.tsx'
import { focusHeading } from '../../../parts/hooks/focus-heading.ts'
import { useNow } from '../../../parts/hooks/use-now.ts'
import { useOffset } from '../../../parts/hooks/use-search-field.ts'
import { notifyDone } from '../../../parts/notify.tsx'
import { Pager } from '../../../parts/pager.tsx'
import { QueryState } from '../../../parts/query-state.tsx'
import { StatusBadge } from '../../../parts/status-badge.tsx'
import { TimeText } from '../../../parts/text/time-text.tsx'
import { describeScopes } from '../../settings/keys/key-scopes.ts'
import { keyState } from '../../settings/keys/key-state.ts'
import classes from '../admin.module.css'
import { PastEnd } from '../past-end.tsx'

const limit = 25

export function UserKeys({ userId }: { userId: string }) {
  const now = useNow()
  const [offset, setOffset] = useOffset()
  const input = { userId, limit, ...(offset > 0 && { offset }) }
  const keys = useQuery({
    queryKey: ['user-keys', input],
    queryFn: ({ signal }) => client.users.listKeys(input, { signal }),
    placeholderData: keepPreviousData,
  })
  return (
    <QueryState query={keys} isEmpty={({ total }) => total === 0} empty={<Text c="dimmed">No API keys yet.</Text>}>
      {({ keys: rows, total }) => (
        <div aria-busy={keys.isPlaceholderData} className={keys.isPlaceholderData ? classes.stale : undefined}>
          {rows.length === 0 ? (
            <PastEnd what="API keys" onFirst={() => setOffset(0)} />
          ) : (
            <DataTable caption="User API keys" columns={columnsOf(userId, now)} rows={rows} rowKey={({ id }) => id} />
          )}
          <Pager what="API keys" total={total} limit={limit} offset={offset} onChange={setOffset} />
        </div>
      )}
    </QueryState>
  )
}

function columnsOf(userId: string, now: number): Column<Key>[] {
  return [
    {
      id: 'name',
      label: 'Name',
      cell: ({ hint, name }) => (
        <>
          <Text fw={600}>{name}</Text>
          <Text size="sm" c="dimmed" ff="monospace">
            …{hint}
          </Text>
        </>
      ),
    },
    { id: 'scopes', label: 'Scopes', cell: ({ scopes }) => describeScopes(scopes) },
    {
      id: 'used',
      label: 'Last used',
      cell: ({ lastUsedAt }) => (lastUsedAt === null ? 'Never' : <TimeText at={lastUsedAt} />),
    },
    {
      id: 'state',
      label: 'Status',
      cell: (key) => {
        const { hasEnded, label, status } = keyState(key, now)
        if (hasEnded) return <StatusBadge status={status} {...(label !== undefined && { label })} />
        return <RevokeButton of={key} userId={userId} />
      },
    },
  ]
}

function RevokeButton({ of: { id: keyId, name }, userId }: { of: Key; userId: string }) {
  return (
    <ConfirmButton
      label="Revoke"
      ariaLabel={`Revoke API key ${name}`}
      title={`Revoke ${name}?`}
      confirmLabel="Revoke key"
      onConfirm={async () => {
        await client.users.revokeKey({ userId, keyId })
        notifyDone(`${name} revoked.`)
        focusHeading()
        await queryClient.invalidateQueries({ queryKey: ['user-keys'] })
      }}
    >
      The key stops working immediately. Tasks and chats that it started continue.
    </ConfirmButton>
  )
}
