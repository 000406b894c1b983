import { Stack, Text, Title } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { ClientToken } from '../../../../client/client.ts'
import { client } from '../../../app/api-client.ts'
import { queryClient } from '../../../app/query-client.ts'
import { ConfirmButton } from '../../../parts/confirm-button.tsx'
import { DataTable, type Column } from '../../../parts/data-table.tsx'
import { focusHeading } from '../../../parts/hooks/focus-heading.ts'
import { notifyDone } from '../../../parts/notify.tsx'
import { PageLink } from '../../../parts/page-link.tsx'
import { Pager } from '../../../parts/pager.tsx'
import { QueryState } from '../../../parts/query-state.tsx'
import { TimeText } from '../../../parts/text/time-text.tsx'
import { usdText } from '../../../parts/text/usd-text.ts'
import { spentShare } from './key-limits.ts'
import { describeScopes } from './key-scopes.ts'
import { SpendBar } from './spend-bar.tsx'
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
            <DataTable
              caption="Client tokens"
              isWide
              columns={columnsOf(names)}
              rows={page.clientTokens}
              rowKey={({ id }) => id}
            />
            <Pager {...page} what="client tokens" onChange={setOffset} />
          </div>
        )}
      </QueryState>
    </Stack>
  )
}

function columnsOf(names: ReadonlyMap<string, string>): Column<ClientToken>[] {
  return [
    { id: 'creator', label: 'Created by', cell: ({ createdBy }) => <Creator id={createdBy} names={names} /> },
    { id: 'scopes', label: 'Scopes', cell: ({ scopes }) => describeScopes(scopes) },
    { id: 'access', label: 'Access', cell: (token) => <Access of={token} /> },
    { id: 'spend', label: 'Spent', cell: (token) => <Spent of={token} /> },
    { id: 'created', label: 'Created', cell: ({ createdAt }) => <TimeText at={createdAt} /> },
    { id: 'expires', label: 'Expires', cell: ({ expiresAt }) => <TimeText at={expiresAt} /> },
    {
      id: 'actions',
      label: 'Actions',
      isLabelHidden: true,
      align: 'right',
      cell: (token) => (
        <ConfirmButton
          label="Revoke"
          ariaLabel={`Revoke the token …${token.id.slice(-4)}`}
          title="Revoke this client token?"
          confirmLabel="Revoke token"
          onConfirm={() => revoke(token)}
        >
          The token …{token.id.slice(-4)} stops working immediately. Tasks and chats that it started continue.
        </ConfirmButton>
      ),
    },
  ]
}

function Creator({ id, names }: { id: string; names: ReadonlyMap<string, string> }) {
  if (id.startsWith('login_')) return 'Browser login'
  if (!id.startsWith('key_')) return 'Platform key'
  return (
    <PageLink href={`/settings/keys/${id}`} fw={600}>
      {names.get(id) ?? `API key …${id.slice(-4)}`}
    </PageLink>
  )
}

function Access({ of: { agents, once, sessionId, taskId } }: { of: ClientToken }) {
  return (
    <>
      {sessionId !== null ? (
        <PageLink href={`/chat/${sessionId}`}>One chat</PageLink>
      ) : taskId !== null ? (
        <PageLink href={`/tasks/${taskId}`}>One task</PageLink>
      ) : agents === null ? (
        'All agents'
      ) : (
        `Only ${agents.join(', ')}`
      )}
      {once && ', one execution'}
    </>
  )
}

function Spent({ of: { id, maxCostUsd, usedUsd } }: { of: ClientToken }) {
  if (maxCostUsd === null) return usdText(usedUsd)
  return (
    <>
      {usdText(usedUsd)} of {usdText(maxCostUsd)}
      <SpendBar share={spentShare({ limitUsd: maxCostUsd, usedUsd })} label={`Spending of token …${id.slice(-4)}`} />
    </>
  )
}

async function revoke({ id: tokenId }: ClientToken): Promise<void> {
  await client.clientTokens.revoke({ tokenId })
  notifyDone('Client token revoked.')
  focusHeading()
  await queryClient.invalidateQueries({ queryKey: ['client-tokens'] })
}
