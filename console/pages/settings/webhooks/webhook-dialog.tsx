import { Box, Button, Group, Modal, NativeSelect, Stack, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import type { CreatedWebhook, Webhook } from '../../../../client/client.ts'
import { client } from '../../../app/api-client.ts'
import { queryClient } from '../../../app/query-client.ts'
import { CodeBlock } from '../../../parts/code/code-block.tsx'
import { useLeaveWarning } from '../../../parts/hooks/use-leave-warning.ts'
import { SecretBox } from '../../../parts/secret-box.tsx'
import { ErrorNotice } from '../../../parts/error-notice.tsx'
import { TimeText } from '../../../parts/text/time-text.tsx'
import { WebhookForm } from './webhook-form.tsx'
import { webhookName, webhookPath } from './webhook-words.ts'
import { goTo } from '../../../app/service-url.ts'

/** Purpose of the dialog: to create a webhook, to edit a webhook, or to rotate a webhook's secret. */
export type WebhookRequest = { kind: 'create' } | { kind: 'edit' | 'rotate'; of: Webhook }

type WebhookDialogProps = { request: WebhookRequest; isOpen: boolean; onClose: () => void }

/**
 * Shows the form and then the secret in the same dialog. The secret is shown only once, so the dialog cannot be closed
 * by accident while it shows the secret.
 */
export function WebhookDialog({ request, isOpen, onClose }: WebhookDialogProps) {
  const [created, setCreated] = useState<CreatedWebhook>()
  const take = (webhook: CreatedWebhook) => {
    setCreated(webhook)
    const { secret: _, ...known } = webhook
    renewWebhooks(known)
  }
  const finish = () => {
    onClose()
    if (request.kind === 'create' && created) goTo(webhookPath(created.id))
  }
  const title = created
    ? 'Store the secret'
    : request.kind === 'create'
      ? 'Add webhook'
      : request.kind === 'edit'
        ? 'Edit webhook'
        : `Rotate secret of ${webhookName(request.of)}`
  return (
    <Modal
      opened={isOpen}
      onClose={created ? () => {} : onClose}
      onExitTransitionEnd={() => setCreated(undefined)}
      withCloseButton={created === undefined}
      closeOnClickOutside={created === undefined}
      closeOnEscape={created === undefined}
      title={title}
      size="lg"
    >
      {created ? (
        <SecretView webhook={created} onStored={finish} />
      ) : request.kind === 'rotate' ? (
        <RotateForm of={request.of} onCancel={onClose} onCreated={take} />
      ) : (
        <WebhookForm
          {...(request.kind === 'edit' && { of: request.of })}
          onCancel={onClose}
          onCreated={take}
          onChanged={(webhook) => {
            renewWebhooks(webhook)
            onClose()
          }}
        />
      )}
    </Modal>
  )
}

export function renewWebhooks(webhook: Webhook): void {
  queryClient.setQueryData(['webhook', webhook.id], webhook)
  void queryClient.invalidateQueries({ queryKey: ['webhooks'] })
}

function SecretView({ webhook, onStored }: { webhook: CreatedWebhook; onStored: () => void }) {
  const { previousSecretUntil, secret } = webhook
  useLeaveWarning(true)
  return (
    <Stack gap="md">
      <Text>
        Copy this secret now. You will not see it again. Your server uses it to verify that events come from this
        service.
      </Text>
      <SecretBox value={secret} label="Signing secret" what="secret" />
      {previousSecretUntil !== null && (
        <Text>
          Until <TimeText at={previousSecretUntil} isExact />, events are also signed with the old secret.
        </Text>
      )}
      <Box>
        <Text mb={6}>On your server:</Text>
        <UnwrapCode />
      </Box>
      <Group justify="flex-end">
        <Button onClick={onStored}>I have stored the secret</Button>
      </Group>
    </Stack>
  )
}

export function UnwrapCode() {
  return (
    <CodeBlock
      code={[
        "import { unwrap } from 'errand-client/webhooks'",
        '',
        'const event = await unwrap(body, headers, process.env.ERRAND_WEBHOOK_SECRET)',
      ].join('\n')}
      label="Code to verify an event"
      what="code"
    />
  )
}

const day = 86_400
const overlaps = [
  { value: '0', label: 'Immediately' },
  { value: '3600', label: 'After 1 hour' },
  { value: String(day), label: 'After 1 day' },
  { value: String(7 * day), label: 'After 7 days' },
]

type RotateFormProps = { of: Webhook; onCancel: () => void; onCreated: (webhook: CreatedWebhook) => void }

function RotateForm({ of, onCancel, onCreated }: RotateFormProps) {
  const [overlap, setOverlap] = useState(String(day))
  const rotate = useMutation({
    mutationFn: () => client.webhooks.rotate({ webhookId: of.id, overlapSeconds: Number(overlap) }),
    onSuccess: onCreated,
  })
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        rotate.mutate()
      }}
    >
      <Stack gap="md">
        {rotate.error && <ErrorNotice title="Could not rotate the secret" error={rotate.error} />}
        <Text>Events will be signed with a new secret. Until the old secret expires, they are signed with both.</Text>
        <NativeSelect
          label="Old secret expires after"
          data={overlaps}
          data-autofocus
          value={overlap}
          onChange={(event) => setOverlap(event.currentTarget.value)}
        />
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onCancel}>
            Cancel
          </Button>
          <Button type="submit" loading={rotate.isPending}>
            Rotate secret
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
