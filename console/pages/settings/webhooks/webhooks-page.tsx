import { Button, Stack, Text } from '@mantine/core'
import { PlusIcon } from '@radix-ui/react-icons'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Webhook } from '../../../../client/client.ts'
import { client } from '../../../app/api-client.ts'
import { PageCode } from '../../../parts/code/page-code.tsx'
import { Snippets } from '../../../parts/code/snippets.tsx'
import { DataTable, type Column } from '../../../parts/data-table.tsx'
import { EmptyState } from '../../../parts/empty-state.tsx'
import { PageHeader } from '../../../parts/page-header.tsx'
import { PageLink } from '../../../parts/page-link.tsx'
import { Pager } from '../../../parts/pager.tsx'
import { QueryState } from '../../../parts/query-state.tsx'
import { StatusBadge } from '../../../parts/status-badge.tsx'
import { TimeText } from '../../../parts/text/time-text.tsx'
import { useOffset } from '../../../parts/hooks/use-search-field.ts'
import { WebhookDialog } from './webhook-dialog.tsx'
import { responseText, successText, webhookLook, webhookName, webhookPath } from './webhook-words.ts'

const limit = 50

export function WebhooksPage() {
  const [offset, setOffset] = useOffset()
  const [isOpen, setOpen] = useState(false)
  const input = { limit, ...(offset > 0 && { offset }) }
  const webhooks = useQuery({
    queryKey: ['webhooks', input],
    queryFn: ({ signal }) => client.webhooks.list(input, { signal }),
    placeholderData: keepPreviousData,
  })
  const addButton = (
    <Button leftSection={<PlusIcon aria-hidden />} onClick={() => setOpen(true)}>
      Add webhook
    </Button>
  )
  return (
    <>
      <PageHeader
        title="Webhooks"
        description="Your server gets signed HTTP requests when tasks finish, chats are charged or credit is added."
        actions={addButton}
      />
      <Stack gap="lg">
        <QueryState
          query={webhooks}
          isEmpty={({ total }) => total === 0}
          empty={
            <EmptyState title="No webhooks yet" action={addButton}>
              Add a webhook to notify your server when a task finishes.
            </EmptyState>
          }
        >
          {(page) => (
            <div>
              <DataTable caption="Webhooks" columns={columns} rows={page.webhooks} rowKey={({ id }) => id} />
              <Pager {...page} what="webhooks" onChange={setOffset} />
            </div>
          )}
        </QueryState>
        <PageCode>
          <Snippets
            request={{ method: 'GET', path: '/api/webhooks' }}
            call={{ method: 'webhooks.list', input, result: 'page' }}
          />
        </PageCode>
      </Stack>
      <WebhookDialog request={{ kind: 'create' }} isOpen={isOpen} onClose={() => setOpen(false)} />
    </>
  )
}

const columns: readonly Column<Webhook>[] = [
  {
    id: 'name',
    label: 'Webhook',
    cell: (webhook) => (
      <>
        <PageLink href={webhookPath(webhook.id)} fw={600}>
          {webhookName(webhook)}
        </PageLink>
        {webhook.description !== '' && webhook.url !== null && (
          <Text size="sm" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
            {webhook.url}
          </Text>
        )}
      </>
    ),
  },
  { id: 'events', label: 'Events', cell: ({ types }) => (types === null ? 'All' : types.join(', ')) },
  {
    id: 'state',
    label: 'Status',
    cell: (webhook) => <StatusBadge {...webhookLook(webhook)} />,
  },
  { id: 'success', label: 'Success rate', cell: successText },
  { id: 'response', label: 'Response time', cell: (webhook) => responseText(webhook) ?? '–' },
  { id: 'created', label: 'Created', cell: ({ createdAt }) => <TimeText at={createdAt} /> },
]
