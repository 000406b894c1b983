import { Modal, Stack, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import type { WebhookDeliveryDetails } from '../../../../client/client.ts'
import { client } from '../../../app/api-client.ts'
import { CodeBlock } from '../../../parts/code/code-block.tsx'
import { CopyText } from '../../../parts/copy-text.tsx'
import { DataTable, type Column } from '../../../parts/data-table.tsx'
import { KeyValueList } from '../../../parts/key-value-list.tsx'
import { PageLink } from '../../../parts/page-link.tsx'
import { QueryState } from '../../../parts/query-state.tsx'
import { StatusBadge } from '../../../parts/status-badge.tsx'
import { TimeText } from '../../../parts/text/time-text.tsx'
import { durationText } from '../../../parts/text/duration-text.ts'
import { deliveryLook } from './webhook-words.ts'

type DeliveryPaneProps = { webhookId: string; eventId: string; onClose: () => void }

/** One delivery with its attempts, and the last request and response. Closed while `eventId` is empty. */
export function DeliveryPane({ webhookId, eventId, onClose }: DeliveryPaneProps) {
  const delivery = useQuery({
    queryKey: ['deliveries', webhookId, 'one', eventId],
    queryFn: ({ signal }) => client.webhooks.delivery({ webhookId, eventId }, { signal }),
    enabled: eventId !== '',
    refetchInterval: ({ state }) => state.data?.status === 'pending' && 3000,
  })
  return (
    <Modal opened={eventId !== ''} onClose={onClose} title={delivery.data?.type ?? 'Delivery'} size="xl">
      <QueryState query={delivery}>{(data) => <DeliveryView delivery={data} />}</QueryState>
    </Modal>
  )
}

function DeliveryView({ delivery }: { delivery: WebhookDeliveryDetails }) {
  const { eventId, history, nextAttemptAt, request, response, sessionId, status, taskId } = delivery
  const sentHeaders = Object.entries({ ...request.headers, 'webhook-signature': '(hidden)' })
  return (
    <Stack gap="lg">
      <KeyValueList
        rows={[
          ['Status', <StatusBadge key="status" {...deliveryLook(status)} />],
          ['Event ID', <CopyText key="id" value={eventId} what="event ID" />],
          [
            'Task',
            taskId !== undefined && (
              <PageLink key="task" href={`/tasks/${encodeURIComponent(taskId)}`}>
                {taskId}
              </PageLink>
            ),
          ],
          [
            'Chat',
            sessionId !== undefined && (
              <PageLink key="chat" href={`/chat/${encodeURIComponent(sessionId)}`}>
                {sessionId}
              </PageLink>
            ),
          ],
          ['Next attempt', nextAttemptAt && <TimeText key="next" at={nextAttemptAt} isExact />],
        ]}
      />
      <Section title="Attempts">
        {history.length === 0 ? (
          <Text c="dimmed">No attempts yet</Text>
        ) : (
          <DataTable caption="Attempts" columns={columns} rows={history.toReversed()} rowKey={({ at }) => at} />
        )}
      </Section>
      <Section title={request.url === null ? 'Request to send' : 'Last request'}>
        {request.url !== null && (
          <CodeBlock
            code={[`POST ${request.url}`, ...sentHeaders.map(([name, value]) => `${name}: ${value}`)].join('\n')}
            label="Request head"
            isWrapped
          />
        )}
        <CodeBlock code={request.body} label="Request body" isWrapped />
      </Section>
      {history.length > 0 && (
        <Section title="Last response">
          {response === null ? (
            <Text c="dimmed">None</Text>
          ) : (
            <>
              <CodeBlock code={response.head} label="Response head" isWrapped />
              {response.body === '' ? (
                <Text c="dimmed">Empty body</Text>
              ) : (
                <CodeBlock code={response.body} label="Response body" isWrapped />
              )}
            </>
          )}
        </Section>
      )}
    </Stack>
  )
}

function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Stack gap="xs">
      <Title order={3} size="h5">
        {title}
      </Title>
      {children}
    </Stack>
  )
}

const columns: readonly Column<WebhookDeliveryDetails['history'][number]>[] = [
  { id: 'at', label: 'Time', cell: ({ at }) => <TimeText at={at} isExact /> },
  { id: 'result', label: 'Result', cell: ({ error, httpStatus }) => error ?? `HTTP ${httpStatus}` },
  { id: 'duration', label: 'Duration', align: 'right', cell: ({ durationMs }) => durationText(durationMs) },
]
