import { Button, Group, Select, Stack, Text } from '@mantine/core'
import { useInfiniteQuery, useMutation } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import type { Webhook, WebhookDelivery } from '../../../../client/client.ts'
import { client } from '../../../app/api-client.ts'
import { queryClient } from '../../../app/query-client.ts'
import { DataTable, type Column } from '../../../parts/data-table.tsx'
import { EmptyState } from '../../../parts/empty-state.tsx'
import { ErrorNotice } from '../../../parts/error-notice.tsx'
import { useNow } from '../../../parts/hooks/use-now.ts'
import { useSearchField } from '../../../parts/hooks/use-search-field.ts'
import { notifyDone } from '../../../parts/notify.tsx'
import { PageLink } from '../../../parts/page-link.tsx'
import { Panel } from '../../../parts/panel.tsx'
import { QueryState } from '../../../parts/query-state.tsx'
import { StatusBadge } from '../../../parts/status-badge.tsx'
import { TimeText } from '../../../parts/text/time-text.tsx'
import { DeliveryPane } from './delivery-pane.tsx'
import { deliveryLook, deliveryStatuses } from './webhook-words.ts'

const limit = 25
const openRefreshMs = 3000
const idleRefreshMs = 15_000

/** Lists the deliveries of the last seven days, newest first. Refetches while any delivery is pending. */
export function WebhookDeliveries({ webhook: { id: webhookId } }: { webhook: Webhook }) {
  const [statusText, setStatus] = useSearchField('status')
  const [openId, setOpenId] = useSearchField('delivery')
  const status = deliveryStatuses.find((one) => one === statusText)
  const deliveries = useInfiniteQuery({
    queryKey: ['deliveries', webhookId, status],
    queryFn: ({ pageParam, signal }) =>
      client.webhooks.deliveries(
        { webhookId, limit, ...(status && { status }), ...(pageParam !== '' && { after: pageParam }) },
        { signal },
      ),
    initialPageParam: '',
    getNextPageParam: ({ next }) => next,
    refetchInterval: ({ state }) =>
      state.data?.pages.some((page) => page.deliveries.some((one) => one.status === 'pending'))
        ? openRefreshMs
        : idleRefreshMs,
  })
  return (
    <Panel
      title="Deliveries"
      actions={
        <Select
          size="xs"
          aria-label="Delivery status"
          data={[
            { value: '', label: 'All' },
            ...deliveryStatuses.map((value) => ({ value, label: deliveryLook(value).label })),
          ]}
          value={status ?? ''}
          onChange={(next) => setStatus(next ?? '')}
          allowDeselect={false}
          w={140}
        />
      }
    >
      <QueryState
        query={deliveries}
        isEmpty={({ pages }) => pages.every((page) => page.deliveries.length === 0)}
        empty={<EmptyState title={status ? 'No deliveries with this status' : 'No deliveries in the last 7 days'} />}
      >
        {({ pages }) => (
          <Stack gap="sm">
            <DataTable
              caption="Deliveries"
              columns={columns(webhookId, statusText)}
              rows={pages.flatMap((page) => page.deliveries)}
              rowKey={({ eventId }) => eventId}
              opensRows
            />
            {deliveries.hasNextPage && (
              <Group>
                <Button
                  size="xs"
                  variant="default"
                  loading={deliveries.isFetchingNextPage}
                  onClick={() => void deliveries.fetchNextPage()}
                >
                  Show more
                </Button>
              </Group>
            )}
          </Stack>
        )}
      </QueryState>
      <DeliveryPane webhookId={webhookId} eventId={openId} onClose={() => setOpenId('')} />
    </Panel>
  )
}

function columns(webhookId: string, status: string): Column<WebhookDelivery>[] {
  return [
    {
      id: 'event',
      label: 'Event',
      cell: ({ eventId, sessionId, taskId, type, url }) => (
        <>
          <PageLink href={`?${new URLSearchParams({ ...(status !== '' && { status }), delivery: eventId })}`}>
            <span title={eventId}>{type}</span>
          </PageLink>
          {taskId !== undefined && <ObjectLink href={`/tasks/${taskId}`}>Task …{taskId.slice(-8)}</ObjectLink>}
          {sessionId !== undefined && <ObjectLink href={`/chat/${sessionId}`}>Chat …{sessionId.slice(-8)}</ObjectLink>}
          {url !== null && (
            <Text size="sm" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
              {url}
            </Text>
          )}
        </>
      ),
    },
    { id: 'at', label: 'Created', cell: ({ createdAt }) => <TimeText at={createdAt} /> },
    { id: 'state', label: 'Status', cell: ({ status }) => <StatusBadge {...deliveryLook(status)} /> },
    { id: 'answer', label: 'Last response', cell: (delivery) => <LastAnswer delivery={delivery} /> },
    { id: 'attempts', label: 'Attempts', align: 'right', cell: ({ attempts }) => attempts },
    {
      id: 'again',
      label: 'Send again',
      isLabelHidden: true,
      align: 'right',
      cell: (delivery) => <Redeliver webhookId={webhookId} delivery={delivery} />,
    },
  ]
}

function ObjectLink({ children, href }: { children: ReactNode; href: string }) {
  return (
    <div>
      <PageLink href={href} size="sm">
        {children}
      </PageLink>
    </div>
  )
}

/** The last response is dimmed until the next attempt, whose response replaces it. */
function LastAnswer({ delivery }: { delivery: WebhookDelivery }) {
  const { attemptedAt, error, httpStatus, nextAttemptAt, status } = delivery
  const now = useNow()
  return (
    <>
      <Text inherit {...(status === 'pending' && { c: 'dimmed' })}>
        {attemptedAt === null ? 'None yet' : (error ?? (httpStatus === null ? 'None' : `HTTP ${httpStatus}`))}
      </Text>
      {nextAttemptAt !== null && attemptedAt !== null && (
        <Text size="sm" c="dimmed">
          Next attempt {Date.parse(nextAttemptAt) > now ? <TimeText at={nextAttemptAt} /> : 'due'}
        </Text>
      )}
    </>
  )
}

/** Shows no button for a delivery in progress. */
function Redeliver({
  delivery: { eventId, status, type },
  webhookId,
}: {
  delivery: WebhookDelivery
  webhookId: string
}) {
  const again = useMutation({
    mutationFn: () => client.webhooks.redeliver({ webhookId, eventId }),
    onSuccess: () => notifyDone('Event queued.'),
    onSettled: () => queryClient.invalidateQueries({ queryKey: ['deliveries', webhookId] }),
  })
  if (status === 'pending') return null
  return (
    <Stack gap={4} align="flex-end">
      <Button
        size="xs"
        variant="default"
        loading={again.isPending}
        onClick={() => again.mutate()}
        aria-label={`Send ${type} ${eventId.slice(-8)} again`}
      >
        Send again
      </Button>
      {again.error && <ErrorNotice error={again.error} />}
    </Stack>
  )
}
