import { Button, Group, Stack, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState, type FormEvent } from 'react'
import type { Key } from '../../../../client/client.ts'
import { client } from '../../../app/api-client.ts'
import { queryClient } from '../../../app/query-client.ts'
import { FoldedSnippets } from '../../../parts/code/snippets.tsx'
import { ErrorNotice } from '../../../parts/error-notice.tsx'
import { fieldErrors } from '../../../parts/field-errors.ts'
import { notifyDone } from '../../../parts/notify.tsx'
import { useOwnErrors } from '../use-own-errors.ts'
import { KeyLimitFields } from './key-limit-fields.tsx'
import { draftOf, limitErrors, limitFields, limitsInput } from './key-limits.ts'

export function KeyLimitsForm({ of, onClose }: { of: Key; onClose: () => void }) {
  const [draft, setDraft] = useState(draftOf(of))
  const input = { keyId: of.id, ...limitsInput(draft) }
  const update = useMutation({
    mutationFn: () => client.keys.update(input),
    onSuccess: () => {
      notifyDone(`Saved the limits for ${of.name}.`)
      void queryClient.invalidateQueries({ queryKey: ['keys'] })
      onClose()
    },
  })
  const { form, own, accept, clear } = useOwnErrors(update.error)
  const { fields, rest } = fieldErrors(update.error, limitFields)
  const { keyId, ...body } = input
  const submit = (event: FormEvent) => {
    event.preventDefault()
    update.reset()
    if (accept(limitErrors(draft))) update.mutate()
  }
  return (
    <form ref={form} onSubmit={submit} noValidate>
      <Stack gap="md">
        {rest && <ErrorNotice title="Could not save the limits" error={update.error} />}
        <Text>
          New limits apply from the next request, and to replies in progress. Keys linked to …{of.hint} by rotation
          share these limits.
        </Text>
        <KeyLimitFields
          draft={draft}
          errorOf={(field) => own[field] ?? fields[field]}
          onChange={(next) => {
            setDraft(next)
            clear(limitFields)
          }}
        />
        <FoldedSnippets
          request={{ method: 'PATCH', path: `/api/keys/${keyId}`, body }}
          call={{ method: 'keys.update', input, result: 'key' }}
        />
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={update.isPending}>
            Save limits
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
