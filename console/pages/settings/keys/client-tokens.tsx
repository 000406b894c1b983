import { Stack, Text, Title } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { ClientToken } from '../../../../client/client.ts'
import { client } from '../../../app/api-client.ts'
import { queryClient } from '../../../app/query-client.ts'
import { focusHeading } from '../../../parts/hooks/focus-heading.ts'
import { notifyDone } from '../../../parts/notify.tsx'
import { PageLink } from '../../../parts/page-link.tsx'
import { Pager } from '../../../parts/pager.tsx'
import { QueryState } from '../../../parts/query-state.tsx'
import { ClientTokenTable } from './client-token-table.tsx'
import { useKeyNames } from './use-key-names.ts'
import classes from '../settings.module.css'

const limit = 50

export function ClientTokens() {
  const [offset, setOffset] = useState(0)
  const tokens = useQuery({
    queryKey: ['client-tokens', { limit, offset }],
    queryFn: ({ signal }) => client.clientTokens.list({ limit, offset }, { signal }),
    placeholderData: keepPreviousData,
  })
  const names = useKeyNames((tokens.data?.total ?? 0) > 0)
  return (
    <Stack gap="md" className={classes.keys}>
      <div>
        <Title order={2}>Client tokens</Title>
        <Text c="dimmed">
          Tokens for browsers, valid for up to an hour. A token stops working when the credential that created it does.
        </Text>
      </div>
      <QueryState
        query={tokens}
        skeleton={null}
        isEmpty={({ total }) => total === 0}
        empty={<Text c="dimmed">No active client tokens.</Text>}
      >
        {(page) => (
          <div>
            <ClientTokenTable
              tokens={page.clientTokens}
              first={{
                id: 'creator',
                label: 'Created by',
                cell: ({ createdBy }) => <Creator id={createdBy} names={names} />,
              }}
              isOwn
              onRevoke={revoke}
            />
            <Pager {...page} what="client tokens" onChange={setOffset} />
          </div>
        )}
      </QueryState>
    </Stack>
  )
}

function Creator({ id, names }: { id: string; names: ReadonlyMap<string, string> | undefined }) {
  if (id.startsWith('login_')) return 'Browser login'
  if (!id.startsWith('key_')) return 'Platform key'
  return (
    <PageLink href={`/settings/keys/${id}`} fw={600}>
      {names ? (names.get(id) ?? `API key …${id.slice(-4)}`) : 'API key'}
    </PageLink>
  )
}

async function revoke({ id: tokenId }: ClientToken): Promise<void> {
  await client.clientTokens.revoke({ tokenId })
  notifyDone('Client token revoked.')
  focusHeading()
  await queryClient.invalidateQueries({ queryKey: ['client-tokens'] })
}
