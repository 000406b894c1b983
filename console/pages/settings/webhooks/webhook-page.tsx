import { Alert, Button, Group, Stack, Text } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useParams } from 'wouter'
import { ErrandClientError, type Webhook } from '../../../../client/client.ts'
import { client } from '../../../app/api-client.ts'
import { queryClient } from '../../../app/query-client.ts'
import { ConfirmButton } from '../../../parts/confirm-button.tsx'
import { PageCode } from '../../../parts/code/page-code.tsx'
import { Snippets } from '../../../parts/code/snippets.tsx'
import { CopyText } from '../../../parts/copy-text.tsx'
import { EmptyState } from '../../../parts/empty-state.tsx'
import { ErrorNotice } from '../../../parts/error-notice.tsx'
import { KeyValueList } from '../../../parts/key-value-list.tsx'
import { notifyDone } from '../../../parts/notify.tsx'
import { PageHeader } from '../../../parts/page-header.tsx'
import { PageLink } from '../../../parts/page-link.tsx'
import { Panel } from '../../../parts/panel.tsx'
import { QueryState } from '../../../parts/query-state.tsx'
import { StatusBadge } from '../../../parts/status-badge.tsx'
import { TimeText } from '../../../parts/text/time-text.tsx'
import { renewWebhooks, UnwrapCode, WebhookDialog, type WebhookRequest } from './webhook-dialog.tsx'
import { WebhookDeliveries } from './webhook-deliveries.tsx'
import { deliveryLook, responseText, successText, webhookLook, webhookName, whyNot } from './webhook-words.ts'
import { goTo } from '../../../app/service-url.ts'

export function WebhookPage() {
  const { webhookId } = useParams<{ webhookId: string }>()
  const webhook = useQuery({
    queryKey: ['webhook', webhookId],
    queryFn: ({ signal }) => client.webhooks.get({ webhookId }, { signal }),
  })
  const isMissing = webhook.error instanceof ErrandClientError && webhook.error.status === 404
  return (
    <>
      <PageHeader
        title={isMissing ? 'Webhook not found' : webhook.data ? webhookName(webhook.data) : 'Webhook'}
        back={{ href: '/settings/webhooks', label: 'Webhooks' }}
        description={webhook.data && <StatusBadge {...webhookLook(webhook.data)} />}
      />
      {isMissing ? (
        <EmptyState
          title="No webhook with this ID"
          action={<PageLink href="/settings/webhooks">View all webhooks</PageLink>}
        >
          It was deleted, or belongs to another account.
        </EmptyState>
      ) : (
        <QueryState query={webhook}>{(data) => <WebhookView webhook={data} />}</QueryState>
      )}
    </>
  )
}

function WebhookView({ webhook }: { webhook: Webhook }) {
  const [request, setRequest] = useState<WebhookRequest>({ kind: 'edit', of: webhook })
  const [isOpen, setOpen] = useState(false)
  const ask = (kind: 'edit' | 'rotate') => {
    setRequest({ kind, of: webhook })
    setOpen(true)
  }
  const reason = whyNot(webhook)
  return (
    <Stack gap="lg">
      {reason !== undefined && (
        <Alert color="yellow" title={webhook.isEnabled ? 'Deliveries are failing' : 'Webhook is off'}>
          {reason}
        </Alert>
      )}
      <Panel
        title="Webhook"
        actions={
          <Button size="xs" variant="default" onClick={() => ask('edit')}>
            Edit webhook
          </Button>
        }
      >
        <KeyValueList
          rows={[
            ['ID', <CopyText key="id" value={webhook.id} what="webhook ID" />],
            ['URL', webhook.url ?? 'The webhookUrl of each task'],
            [
              'Events',
              webhook.types === null
                ? webhook.url === null
                  ? 'Task completed, task failed'
                  : 'All'
                : webhook.types.join(', '),
            ],
            ['Created', <TimeText key="added" at={webhook.createdAt} isExact />],
            ['Success rate', successText(webhook)],
            ['Response time', responseText(webhook)],
            ['Last error', webhook.lastFailure && <LastFailure key="error" {...webhook.lastFailure} />],
            ['Failing since', webhook.failingSince && <TimeText key="failing" at={webhook.failingSince} isExact />],
            [
              'Old secret expires',
              webhook.previousSecretUntil && <TimeText key="old" at={webhook.previousSecretUntil} isExact />,
            ],
          ]}
        />
        <Actions webhook={webhook} onRotate={() => ask('rotate')} />
      </Panel>
      <WebhookDeliveries webhook={webhook} />
      <PageCode>
        <Snippets
          request={{ method: 'GET', path: `/api/webhooks/${webhook.id}/deliveries` }}
          call={{ method: 'webhooks.deliveries', input: { webhookId: webhook.id }, result: 'page' }}
        />
        <div>
          <Text mb={6}>On your server, to verify and read an event:</Text>
          <UnwrapCode />
        </div>
      </PageCode>
      <WebhookDialog request={request} isOpen={isOpen} onClose={() => setOpen(false)} />
    </Stack>
  )
}

function LastFailure({ at, error }: NonNullable<Webhook['lastFailure']>) {
  return (
    <>
      <TimeText at={at} />: {error}
    </>
  )
}

function Actions({ webhook, onRotate }: { webhook: Webhook; onRotate: () => void }) {
  const { id: webhookId, isEnabled, url } = webhook
  const test = useMutation({
    mutationFn: () => client.webhooks.test({ webhookId }),
    onSettled: () => renewDeliveries(webhookId),
  })
  const enable = useMutation({
    mutationFn: () => client.webhooks.update({ webhookId, isEnabled: true }),
    onSuccess: (changed) => {
      renewWebhooks(changed)
      notifyDone('Webhook turned on.')
    },
  })
  const disable = async () => {
    renewWebhooks(await client.webhooks.update({ webhookId, isEnabled: false }))
    renewDeliveries(webhookId)
    notifyDone('Webhook turned off.')
  }
  const remove = async () => {
    await client.webhooks.delete({ webhookId })
    goTo('/settings/webhooks', { replace: true })
    queryClient.removeQueries({ queryKey: ['webhook', webhookId] })
    await queryClient.invalidateQueries({ queryKey: ['webhooks'] })
    notifyDone('Webhook deleted.')
  }
  return (
    <Stack gap="sm" mt="md">
      {(test.error ?? enable.error) && <ErrorNotice error={test.error ?? enable.error} />}
      <Group gap="xs">
        {url !== null && (
          <Button size="xs" variant="default" loading={test.isPending} onClick={() => test.mutate()}>
            Send test event
          </Button>
        )}
        <Button size="xs" variant="default" onClick={onRotate}>
          Rotate secret
        </Button>
        {isEnabled ? (
          <ConfirmButton label="Turn off" title="Turn off this webhook?" confirmLabel="Turn off" onConfirm={disable}>
            No more events are sent. Pending deliveries are canceled and are not sent if you turn the webhook on again.
          </ConfirmButton>
        ) : (
          <Button size="xs" variant="default" loading={enable.isPending} onClick={() => enable.mutate()}>
            Turn on
          </Button>
        )}
        <ConfirmButton
          label="Delete webhook"
          title="Delete this webhook?"
          confirmLabel="Delete webhook"
          onConfirm={remove}
          buttonProps={{ color: 'red', variant: 'light' }}
        >
          No more events are sent, and the webhook's secret is deleted. This cannot be undone.
        </ConfirmButton>
        <Text size="sm" role="status">
          {test.data && `Test event: ${testText(test.data)}`}
        </Text>
      </Group>
    </Stack>
  )
}

function testText({ error, httpStatus, status }: Awaited<ReturnType<typeof client.webhooks.test>>): string {
  if (status === 'succeeded') return `delivered, HTTP ${httpStatus}.`
  return `${deliveryLook(status).label.toLowerCase()}. ${error ?? 'No response yet.'}`
}

export function renewDeliveries(webhookId: string): void {
  for (const name of ['deliveries', 'webhook']) void queryClient.invalidateQueries({ queryKey: [name, webhookId] })
}
