import { Button, Checkbox, Group, Radio, Stack, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState, type FormEvent } from 'react'
import type { CreatedWebhook, Webhook } from '../../../../client/client.ts'
import { client } from '../../../app/api-client.ts'
import { FoldedSnippets } from '../../../parts/code/snippets.tsx'
import { ErrorNotice } from '../../../parts/error-notice.tsx'
import { fieldErrors } from '../../../parts/field-errors.ts'
import { notifyDone } from '../../../parts/notify.tsx'
import { useOwnErrors } from '../use-own-errors.ts'
import { eventTexts, type EventType } from './webhook-words.ts'

type WebhookFormProps = {
  /** The webhook to edit. Omit it to create one. */
  of?: Webhook
  onCancel: () => void
  onCreated: (webhook: CreatedWebhook) => void
  onChanged: (webhook: Webhook) => void
}

export function WebhookForm({ of, onCancel, onChanged, onCreated }: WebhookFormProps) {
  const [isOfTasks, setOfTasks] = useState(of?.url === null)
  const [url, setUrl] = useState(of?.url ?? '')
  const [description, setDescription] = useState(of?.description ?? '')
  const [isAll, setAll] = useState(of ? of.types === null : true)
  const [types, setTypes] = useState<EventType[]>([...(of?.types ?? [])])
  const address = isOfTasks ? null : url.trim()
  const save = useMutation({
    mutationFn: async () => {
      if (!of) return onCreated(await client.webhooks.create(input))
      const { url: _, ...rest } = input
      const changed = {
        webhookId: of.id,
        ...rest,
        ...(address !== null && { url: address, types: isAll ? null : types }),
      }
      onChanged(await client.webhooks.update(changed))
      notifyDone('Webhook saved.')
    },
  })
  const input = {
    url: address,
    description: description.trim(),
    ...(!isAll && !isOfTasks && { types }),
  }
  const { form, own, accept, clear } = useOwnErrors(save.error)
  const { fields, rest } = fieldErrors(save.error, ['url', 'description', 'types'])
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const errors = {
      ...(address === '' && { url: 'Enter the URL of your server' }),
      ...(!isAll && !isOfTasks && types.length === 0 && { types: 'Select at least one event' }),
    }
    save.reset()
    if (accept(errors)) save.mutate()
  }
  return (
    <form ref={form} onSubmit={submit} noValidate>
      <Stack gap="md">
        {rest && (
          <ErrorNotice title={of ? 'Could not save the webhook' : 'Could not add the webhook'} error={save.error} />
        )}
        {!of && (
          <Radio.Group
            label="Destination"
            value={isOfTasks ? 'tasks' : 'one'}
            onChange={(value) => setOfTasks(value === 'tasks')}
          >
            <Stack gap="xs" mt="xs">
              <Radio value="one" label="One endpoint" description="Events of this account" />
              <Radio
                value="tasks"
                label="Task callbacks"
                description="Sends events to the webhook URL of each task. Creates the secret that signs them."
              />
            </Stack>
          </Radio.Group>
        )}
        {!isOfTasks && (
          <TextInput
            label="URL"
            description="A public https URL."
            placeholder="https://example.com/errand-events"
            type="url"
            autoComplete="off"
            data-autofocus
            value={url}
            onChange={(event) => {
              setUrl(event.currentTarget.value)
              clear(['url'])
            }}
            error={own['url'] ?? fields['url']}
          />
        )}
        <TextInput
          label="Description"
          description="Only for your own reference."
          maxLength={200}
          autoComplete="off"
          value={description}
          onChange={(event) => setDescription(event.currentTarget.value)}
          error={fields['description']}
        />
        {!isOfTasks && (
          <>
            <Checkbox
              label="All events"
              description="Includes event types that are added later."
              checked={isAll}
              onChange={(event) => setAll(event.currentTarget.checked)}
            />
            {!isAll && (
              <Checkbox.Group
                label="Events"
                value={types}
                onChange={(values) => {
                  setTypes(values as EventType[])
                  clear(['types'])
                }}
                error={own['types'] ?? fields['types']}
              >
                <Stack gap="xs" mt="xs">
                  {eventTexts.map(({ label, type }) => (
                    <Checkbox key={type} value={type} label={label} description={type} />
                  ))}
                </Stack>
              </Checkbox.Group>
            )}
          </>
        )}
        {!of && (
          <FoldedSnippets
            request={{ method: 'POST', path: '/api/webhooks', body: input }}
            call={{ method: 'webhooks.create', input, result: 'created' }}
          />
        )}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onCancel}>
            Cancel
          </Button>
          <Button type="submit" loading={save.isPending}>
            {of ? 'Save webhook' : 'Add webhook'}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
