import { Button, Group, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useParams } from 'wouter'
import { ErrandClientError, type Key } from '../../../../client/client.ts'
import { client } from '../../../app/api-client.ts'
import { PageCode } from '../../../parts/code/page-code.tsx'
import { Snippets } from '../../../parts/code/snippets.tsx'
import { CopyText } from '../../../parts/copy-text.tsx'
import { EmptyState } from '../../../parts/empty-state.tsx'
import { useNow } from '../../../parts/hooks/use-now.ts'
import { KeyValueList } from '../../../parts/key-value-list.tsx'
import { PageHeader } from '../../../parts/page-header.tsx'
import { PageLink } from '../../../parts/page-link.tsx'
import { Panel } from '../../../parts/panel.tsx'
import { QueryState } from '../../../parts/query-state.tsx'
import { StatusBadge } from '../../../parts/status-badge.tsx'
import { countText } from '../../../parts/text/count-text.ts'
import { TimeText } from '../../../parts/text/time-text.tsx'
import { agentPath } from '../../agents/agent-path.ts'
import { KeyDialog, type KeyRequest } from './key-dialog.tsx'
import { spentShare } from './key-limits.ts'
import { describeScopes } from './key-scopes.ts'
import { rotationLinks } from './key-rotation.tsx'
import { keyState } from './key-state.ts'
import { KeyUsage } from './key-usage.tsx'
import { RevokeKeyDialog } from './revoke-key-dialog.tsx'
import { KeySpend, SpendBar } from './spend-bar.tsx'
import { useNewestKeys } from './use-key-names.ts'

export function KeyPage() {
  const { keyId } = useParams<{ keyId: string }>()
  const key = useQuery({
    queryKey: ['keys', 'one', keyId],
    queryFn: ({ signal }) => client.keys.get({ keyId }, { signal }),
  })
  const now = useNow()
  const isMissing = key.error instanceof ErrandClientError && key.error.status === 404
  return (
    <>
      <PageHeader
        title={isMissing ? 'API key not found' : (key.data?.name ?? 'API key')}
        back={{ href: '/settings/keys', label: 'API keys' }}
        description={key.data && <StatusBadge {...keyState(key.data, now)} />}
      />
      {isMissing ? (
        <EmptyState
          title="No API key with this ID"
          action={<PageLink href="/settings/keys">View all API keys</PageLink>}
        >
          It expired or was revoked more than 90 days ago, or belongs to another account.
        </EmptyState>
      ) : (
        <QueryState query={key}>{(data) => <KeyView of={data} hasEnded={keyState(data, now).hasEnded} />}</QueryState>
      )}
    </>
  )
}

function KeyView({ of: key, hasEnded }: { of: Key; hasEnded: boolean }) {
  const [request, setRequest] = useState<KeyRequest>()
  const [isOpen, setOpen] = useState(false)
  const [isRevoking, setRevoking] = useState(false)
  const { data: newest } = useNewestKeys()
  const ask = (kind: 'rotate' | 'limit') => {
    setRequest({ kind, of: key })
    setOpen(true)
  }
  return (
    <Stack gap="lg">
      <Panel title="Key">
        <KeyValueList
          rows={[
            ['ID', <CopyText key="id" value={key.id} what="key ID" />],
            ['Key', <code key="hint">errand_sk_…{key.hint}</code>],
            ['Scopes', describeScopes(key.scopes)],
            ['Created', <TimeText key="created" at={key.createdAt} isExact />],
            ['Last used', key.lastUsedAt === null ? 'Never' : <TimeText key="used" at={key.lastUsedAt} isExact />],
            ['Expires', key.expiresAt === null ? 'Never' : <TimeText key="expires" at={key.expiresAt} isExact />],
            ...rotationLinks(key, newest?.keys),
            ['Revoked', key.revokedAt && <TimeText key="revoked" at={key.revokedAt} isExact />],
          ]}
        />
        {!hasEnded && (
          <Group gap="xs" mt="md">
            <Button size="xs" variant="default" onClick={() => ask('rotate')}>
              Rotate key
            </Button>
            <Button size="xs" variant="light" color="red" onClick={() => setRevoking(true)}>
              Revoke key
            </Button>
          </Group>
        )}
      </Panel>
      <Panel
        title="Limits"
        actions={
          !hasEnded && (
            <Button size="xs" variant="default" onClick={() => ask('limit')}>
              Edit limits
            </Button>
          )
        }
      >
        <Limits of={key} />
      </Panel>
      <KeyUsage keyId={key.id} />
      <PageCode>
        <Snippets
          request={{ method: 'GET', path: `/api/keys/${key.id}` }}
          call={{ method: 'keys.get', input: { keyId: key.id }, result: 'key' }}
        />
      </PageCode>
      <KeyDialog request={request} isOpen={isOpen} onClose={() => setOpen(false)} />
      <RevokeKeyDialog of={key} isOpen={isRevoking} onClose={() => setRevoking(false)} />
    </Stack>
  )
}

function Limits({ of: key }: { of: Key }) {
  const { agents, executionsPerMinute, limitUsd, resetsAt } = key
  if (limitUsd === null && executionsPerMinute === null && agents === null) {
    return <Text c="dimmed">No key limits. The limits of the account apply.</Text>
  }
  return (
    <KeyValueList
      rows={[
        [
          'Spending',
          limitUsd !== null && (
            <>
              <KeySpend of={key} />
              {resetsAt !== null && (
                <>
                  , resets <TimeText at={resetsAt} />
                </>
              )}
              <SpendBar share={spentShare(key)} label={`Spend of ${key.name}`} />
            </>
          ),
        ],
        ['Executions per minute', executionsPerMinute !== null && countText(executionsPerMinute)],
        [
          'Agents',
          agents && (
            <Group gap="xs">
              {agents.map((id) => (
                <PageLink key={id} href={agentPath(id)}>
                  {id}
                </PageLink>
              ))}
            </Group>
          ),
        ],
      ]}
    />
  )
}
