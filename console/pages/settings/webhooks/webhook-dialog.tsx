import { Box, Button, Group, Modal, NativeSelect, Stack, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { navigate } from 'wouter/use-browser-location'
import type { CreatedWebhook, Webhook } from '../../../../client/client.ts'
import { client } from '../../../app/api-client.ts'
import { queryClient } from '../../../app/query-client.ts'
import { CodeBlock } from '../../../parts/code-block.tsx'
import { useLeaveWarning } from '../../../parts/hooks/use-leave-warning.ts'
import { SecretBox } from '../../../parts/secret-box.tsx'
import { ErrorNotice } from '../../../parts/error-notice.tsx'
import { TimeText } from '../../../parts/text/time-text.tsx'
import { WebhookForm } from './webhook-form.tsx'
import { webhookName, webhookPath } from './webhook-words.ts'

/** Action of the dialog: create a webhook, edit one, or rotate its secret. */
export type WebhookRequest = { kind: 'create' } | { kind: 'edit' | 'rotate'; of: Webhook }

type WebhookDialogProps = { request: WebhookRequest; isOpen: boolean; onClose: () => void }

/** One dialog from the form to the secret. The secret is shown only once and not lost by an accidental close. */
export function WebhookDialog({ request, isOpen, onClose }: WebhookDialogProps) {
  const [created, setCreated] = useState<CreatedWebhook>()
  const take = (webhook: CreatedWebhook) => {
    setCreated(webhook)
    const { secret: _, ...known } = webhook
    renewWebhooks(known)
  }
  const finish = () => {
    onClose()
    if (request.kind === 'create' && created) navigate(webhookPath(created.id))
  }
  const title = created
    ? 'Store the secret'
    : request.kind === 'create'
      ? 'Add a webhook'
      : request.kind === 'edit'
        ? 'Change the webhook'
        : `A new secret for ${webhookName(request.of)}`
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
        This is the only time that the secret is shown. Your server needs it to tell events of this service from what
        anybody else sends.
      </Text>
      <SecretBox value={secret} label="The secret" what="the secret" />
      {previousSecretUntil !== null && (
        <Text>
          Until <TimeText at={previousSecretUntil} isExact /> events are signed with the old secret, too.
        </Text>
      )}
      <Box>
        <Text mb={6}>In your server:</Text>
        <CodeBlock
          code={[
            "import { unwrap } from 'errand-client/webhooks'",
            '',
            'const event = await unwrap(body, headers, process.env.ERRAND_WEBHOOK_SECRET)',
          ].join('\n')}
          label="How a server checks an event"
          what="the program"
        />
      </Box>
      <Group justify="flex-end">
        <Button onClick={onStored}>I have stored it</Button>
      </Group>
    </Stack>
  )
}

const day = 86_400
const overlaps = [
  { value: '0', label: 'Not at all' },
  { value: '3600', label: 'For an hour' },
  { value: String(day), label: 'For a day' },
  { value: String(7 * day), label: 'For 7 days' },
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
        {rotate.error && <ErrorNotice title="The secret was not changed" error={rotate.error} />}
        <Text>
          Events are signed with a new secret from now on. While both are used, a server that knows either takes them.
        </Text>
        <NativeSelect
          label="How long the old secret is used beside it"
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
            Make a new secret
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
